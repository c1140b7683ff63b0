"""Jobs that an import leaves out: their servers are not available, until an import of all jobs has them."""

import json
from pathlib import Path

import pytest
from listings import HOSTS, slurm, told
from sqlalchemy import Connection, Engine, text

import trninv
from conftest import Run
from trninv.catalog.facts import default_catalog
from trninv.catalog.models import default_systems
from trninv.database.engine import write_transaction
from trninv.errors import ConflictError
from trninv.inventory.seeding.verification import verify
from trninv.placement.allocations import server_cordons
from trninv.placement.changes.allocate import allocate
from trninv.placement.changes.cordon import cordon

pytestmark = pytest.mark.slow_on_postgresql

ULTRA = "u-trn2x64/d0"
UNKNOWN = slurm(1, f"{HOSTS[0]},cpu7", *["neuron:4(IDX:0-3)"] * 2)
WHOLE = slurm(1, HOSTS[0], "neuron:4(IDX:0-3)")


def free(connection: Connection) -> dict[str, int]:
    """Free chips by server, as SQL users see them."""
    query = "SELECT server, count(*) AS chips FROM v_free_chip WHERE cluster = 'u-trn2x64' GROUP BY server"
    return {row.server.removeprefix(f"{ULTRA}/"): row.chips for row in connection.execute(text(query))}


def test_the_servers_of_a_job_that_is_left_out_are_not_available_until_a_complete_import(engine: Engine) -> None:
    other = slurm(2, HOSTS[1], "neuron:16(IDX:0-15)")
    with write_transaction(engine) as connection:
        found = told(connection, {"jobs": [UNKNOWN, other]}, keep_going=True)
        assert (found.allocated, found.cordoned, found.uncordoned) == (1, (f"{ULTRA}/s0",), ())
        assert free(connection) == {"s2": 16, "s3": 16}
        with pytest.raises(ConflictError, match="an import left out a job that runs here: job1 "):
            allocate(connection, "mine", [f"{ULTRA}/s0/c8"], who="me")
        again = told(connection, {"jobs": [UNKNOWN, other]}, keep_going=True)
        assert (again.cordoned, again.uncordoned) == ((f"{ULTRA}/s0",), ())
        assert len(server_cordons.list_cordons(connection, 10)) == 1
        part = told(connection, {"jobs": [WHOLE]}, partial=True)
        assert (part.allocated, part.cordoned, part.uncordoned) == (1, (), ())
        assert free(connection) == {"s2": 16, "s3": 16}, "a partial listing does not say that nothing is left out"
        all_ = told(connection, {"jobs": [WHOLE, other]})
        assert (all_.unchanged, all_.cordoned, all_.uncordoned) == (2, (), (f"{ULTRA}/s0",))
        assert free(connection) == {"s0": 12, "s2": 16, "s3": 16}
        assert list(verify(connection, default_catalog(), default_systems())) == []


def test_what_a_left_out_job_held_is_given_back_but_its_servers_now_are_not_available(engine: Engine) -> None:
    with write_transaction(engine) as connection:
        told(connection, {"jobs": [slurm(1, f"{HOSTS[0]},{HOSTS[1]}", *["neuron:16(IDX:0-15)"] * 2)]})
        found = told(connection, {"jobs": [UNKNOWN]}, keep_going=True)
        assert (found.ended, found.cordoned) == (1, (f"{ULTRA}/s0",))
        assert free(connection) == {"s1": 16, "s2": 16, "s3": 16}


def test_only_chips_that_a_left_out_job_has_make_a_server_not_available(engine: Engine) -> None:
    on_cpu = slurm(3, f"{HOSTS[2]},cpu1", "", "neuron:1(IDX:0)")
    with write_transaction(engine) as connection:
        found = told(
            connection, {"jobs": [on_cpu, slurm(4, f"{HOSTS[3]},{HOSTS[3]}", "neuron:1(IDX:77)", "")]}, keep_going=True
        )
        assert found.cordoned == (f"{ULTRA}/s3",)


def test_a_server_that_somebody_closed_is_not_opened_by_an_import(engine: Engine) -> None:
    with write_transaction(engine) as connection:
        cordon(connection, [f"{ULTRA}/s0"], who="ann", why="new firmware")
        cordon(connection, [f"{ULTRA}/s2"], who="slurm", why="new firmware")
        found = told(connection, {"jobs": [UNKNOWN]}, keep_going=True)
        assert found.cordoned == (f"{ULTRA}/s0",)
        assert told(connection, {"jobs": [WHOLE]}).uncordoned == ()
        assert {each.who for each in server_cordons.list_cordons(connection, 10)} == {"ann", "slurm"}


def test_each_system_opens_only_what_was_closed_for_its_jobs(engine: Engine) -> None:
    with write_transaction(engine) as connection:
        told(connection, {"jobs": [UNKNOWN]}, keep_going=True)
        assert told(connection, {"jobs": [slurm(9, HOSTS[3], "neuron:1(IDX:0)")]}, system="slurm-b").uncordoned == ()
        assert [each.who for each in server_cordons.list_cordons(connection, 10)] == ["slurm"]
        assert told(connection, {"jobs": []}, allow_empty=True).uncordoned == (f"{ULTRA}/s0",)


def test_history_and_placement_heed_it(seeded: str) -> None:
    with trninv.open(seeded) as own, write_transaction(own.engine) as connection:
        told(connection, {"jobs": [UNKNOWN]}, keep_going=True)
        query = "SELECT action, address, source, who FROM v_event WHERE action IS NOT NULL"
        assert [tuple(row) for row in connection.execute(text(query))] == [("cordon", f"{ULTRA}/s0", "import", "slurm")]
        (closing,) = server_cordons.list_cordons(connection, 10)
        assert closing.why == "an import left out a job that runs here: job1 (1)"
    with trninv.open(seeded) as own:
        answer = own.free(ULTRA)
        assert (answer.allocated, answer.free, answer.unusable, answer.cordoned) == (0, 48, 16, 16)
        assert own.placements(f"{ULTRA}/s0", chips=1).reason == "no domain has 1 chip free"


def test_the_command_says_which_servers_are_not_available(run: Run, seeded: str, tmp_path: Path) -> None:
    def ask(job: object, *words: str) -> list[str]:
        listing = tmp_path / "squeue.json"
        listing.write_text(json.dumps({"jobs": [job]}))
        return run("import", "jobs", "slurm", *words, str(listing), database=seeded)[1].splitlines()

    left_out = ask(UNKNOWN, "--keep-going", "--dry-run")
    assert left_out[1] == f"cordoned until an import can allocate the omitted jobs that run there: {ULTRA}/s0"
    assert ask(UNKNOWN, "--keep-going", "--format", "json") != []
    assert ask(WHOLE)[1] == f"uncordoned: {ULTRA}/s0"
