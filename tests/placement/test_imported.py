"""Jobs as schedulers list them: held, moved and ended, each system its own, and conflicts named."""

import io
import itertools
import json
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from listings import HOSTS, claim, slurm, told
from spoiling import spoilt
from sqlalchemy import Connection, Engine, text

from conftest import Databases, Run, examples
from trninv.catalog.facts import default_catalog
from trninv.catalog.models import default_systems
from trninv.database.engine import temporary_engine, write_transaction
from trninv.errors import InvalidArgumentError, InvalidFileError, UnknownJobError
from trninv.importers.ingestion import ImportFile
from trninv.inventory.seeding.verification import verify
from trninv.inventory.state.bindings import bind
from trninv.placement.allocations import job_allocations
from trninv.placement.allocations.job_import import JobImportResult, import_jobs, read_jobs
from trninv.placement.changes.allocate import allocate
from trninv.placement.changes.release import release
from trninv.reconcile.latest_observations import pinned_binding

pytestmark = pytest.mark.slow_on_postgresql

ULTRA = "u-trn2x64/d0"


def counts(found: JobImportResult) -> tuple[int, int, int, int]:
    """Jobs held, moved, unchanged and ended."""
    return found.allocated, found.moved, found.unchanged, found.ended


def held(connection: Connection) -> dict[str, list[str]]:
    """Chips by job, as SQL users see them."""
    found: dict[str, list[str]] = {}
    for row in connection.execute(
        text("SELECT job, address FROM v_allocation WHERE ended_at IS NULL ORDER BY address")
    ):
        found.setdefault(row.job, []).append(row.address.removeprefix(f"{ULTRA}/"))
    return found


def chips_of(connection: Connection) -> dict[str, int]:
    """How many each job has, or had at its end, as SQL users see it."""
    return {row.name: row.chips for row in connection.execute(text("SELECT name, chips FROM v_job"))}


def test_a_listing_is_held_again_unchanged_moved_and_ended(engine: Engine) -> None:
    first = [
        slurm(1, "u-trn2x64-d0-s[0-1]", *["neuron:trainium2:16(IDX:0-15)"] * 2),
        slurm(2, HOSTS[2], "neuron:4(IDX:0-1,4-5)", job_state=["RUNNING"], start_time={"set": True, "number": 7}),
        slurm(3, "", job_state="PENDING"),
        slurm(4, HOSTS[3], "neuron:16(IDX:0-15)", job_state=["COMPLETED"]),
    ]
    with write_transaction(engine) as connection:
        assert counts(told(connection, {"jobs": first})) == (2, 0, 0, 0)
        assert {name: len(chips) for name, chips in held(connection).items()} == {"job1": 32, "job2": 4}
        assert held(connection)["job2"] == ["s2/c0", "s2/c1", "s2/c4", "s2/c5"]
        one, two = job_allocations.list_jobs(connection, None, 10)
        expected = ("ann", "2026-09-21T14:13:20.000000+00:00", "slurm", "1")
        assert (one.who, one.started_at, one.system, one.external_id) == expected
        assert two.started_at == "1970-01-01T00:00:07.000000+00:00"
        assert counts(told(connection, {"jobs": first})) == (0, 0, 2, 0)
        assert job_allocations.list_jobs(connection, None, 10) == [one, two]
        second = [first[0], slurm(2, HOSTS[2], "neuron:4(IDX:4-7)"), slurm(5, HOSTS[3], "neuron:1(IDX:0)")]
        assert counts(told(connection, {"jobs": second})) == (1, 1, 1, 0)
        assert held(connection)["job2"] == ["s2/c4", "s2/c5", "s2/c6", "s2/c7"]
        assert chips_of(connection) == {"job1": 32, "job2": 4, "job5": 1}
        assert counts(told(connection, {"jobs": second[:1]}, partial=True)) == (0, 0, 1, 0)
        assert counts(told(connection, {"jobs": second[:1]})) == (0, 0, 1, 2)
        assert list(held(connection)) == ["job1"]
        with pytest.raises(InvalidFileError, match="no job with chips is listed, so 1 job of slurm would end"):
            told(connection, {"jobs": []})
        assert counts(told(connection, {"jobs": []}, allow_empty=True)) == (0, 0, 0, 1)
        assert connection.scalar(text("SELECT count(*) FROM allocation")) == 39
        assert list(verify(connection, default_catalog(), default_systems())) == []


def test_a_system_owns_its_jobs_and_conflicts_are_named(engine: Engine) -> None:
    listing = {"jobs": [slurm(1, HOSTS[0], "neuron:2(IDX:0-1)"), slurm(2, HOSTS[1], "neuron:2(IDX:0-1)")]}
    with write_transaction(engine) as connection:
        allocate(connection, "mine", [f"{ULTRA}/s0/c1"], who="me")
        with pytest.raises(InvalidFileError) as refused:
            told(connection, listing)
        assert refused.value.errors == [
            "jobs.json:1.jobs[0]: job job1 is on 1 chip of job mine of trninv; release one of the jobs"
        ]
        found = told(connection, listing, keep_going=True)
        assert (counts(found), len(found.omitted)) == ((1, 0, 0, 0), 1)
        assert held(connection) == {"mine": ["s0/c1"], "job2": ["s1/c0", "s1/c1"]}
        with pytest.raises(InvalidFileError) as refused:
            told(connection, listing, system="slurm-b")
        assert "job2 of slurm" in refused.value.errors[1]
        release(connection, "mine")
        assert counts(told(connection, listing)) == (1, 0, 1, 0)
        with pytest.raises(UnknownJobError, match="no job job2: did you mean slurm:2, which has this name"):
            release(connection, "job2")
        assert release(connection, "slurm:2").ended_at
        with pytest.raises(InvalidArgumentError, match="use letters, digits"):
            told(connection, listing, system="trninv")


def test_a_partial_listing_takes_no_chip_of_a_job_that_it_omits(engine: Engine) -> None:
    omitted = {"jobs": [slurm(1, HOSTS[0], "neuron:2(IDX:0-1)")]}
    listing = {"jobs": [slurm(2, HOSTS[0], "neuron:2(IDX:1-2)"), slurm(3, HOSTS[1], "neuron:1(IDX:0)")]}
    with write_transaction(engine) as connection:
        told(connection, omitted)
        with pytest.raises(InvalidFileError) as refused:
            told(connection, listing, partial=True)
        assert refused.value.errors == [
            "jobs.json:1.jobs[0]: job job2 is on 1 chip of job job1 of slurm; release one of the jobs"
        ]
        found = told(connection, listing, partial=True, keep_going=True)
        assert (counts(found), len(found.omitted)) == ((1, 0, 0, 0), 1)
        assert held(connection) == {"job1": ["s0/c0", "s0/c1"], "job3": ["s1/c0"]}
        assert counts(told(connection, listing)) == (1, 0, 1, 1), "a whole listing ends the job that it omits"


def test_what_is_not_said_of_chips_is_not_guessed(engine: Engine) -> None:
    with write_transaction(engine) as connection:
        alone = told(connection, {"jobs": [slurm(1, HOSTS[0], "neuron(CNT:4)"), slurm(2, HOSTS[1], "neuron(CNT:16)")]})
        assert (counts(alone), alone.whole_servers) == ((2, 0, 0, 0), 1)
        assert {name: len(chips) for name, chips in held(connection).items()} == {"job1": 16, "job2": 16}
        with pytest.raises(InvalidFileError) as refused:
            told(connection, {"jobs": [slurm(1, HOSTS[0], "neuron(CNT:4)"), slurm(3, HOSTS[0], "neuron(CNT:4)")]})
        assert len(refused.value.errors) == 2
        assert "set File= for each device in gres.conf" in refused.value.errors[0]
        no_devices = told(connection, {"jobs": [slurm(1, HOSTS[0]), slurm(2, HOSTS[1], "gpu:4(IDX:0-3)")]})
        assert (counts(no_devices), no_devices.whole_servers, no_devices.without_chips) == ((0, 0, 1, 1), 1, 1)
        assert counts(told(connection, {"jobs": [slurm(1, HOSTS[0], "neuron(CNT:16)"), slurm(9, HOSTS[2])]})) == (
            0,
            0,
            1,
            0,
        )


@pytest.mark.parametrize(
    ("detail", "chips"),
    [
        ("neuron:trn2-ultra:2(IDX:3-4)", [3, 4]),
        ("neuron:trn2.48xlarge:1(IDX:7)", [7]),
        ("gpu:a100:2(IDX:0-1),gres/neuron:2(IDX:5,9)", [5, 9]),
        ("neuron:a:2(IDX:0,2),craynetwork:1,neuron:b:1(IDX:15)", [0, 2, 15]),
        ("neuron:a:4(IDX:0-3),neuron:trn2-ultra(CNT:12)", range(16)),
        ("neuron:trn2-ultra:16", range(16)),
        ("neuron:a:0(IDX:N/A),gpu:1", []),
    ],
)
def test_all_that_a_host_gives_of_every_type_is_held(engine: Engine, detail: str, chips: Sequence[int]) -> None:
    with write_transaction(engine) as connection:
        told(connection, {"jobs": [slurm(1, HOSTS[0], detail)]})
        assert sorted(held(connection).get("job1", [])) == sorted(f"s0/c{chip}" for chip in chips)


@pytest.mark.parametrize(
    "entry",
    [
        *("neuron", "neuron:trn2-ultra", "neuron:a:b:4(IDX:0-3)", "neuron:4(IDX:0-3", "neuron:4(IDX:0-x)"),
        *("neuron:4(IDX:3-0)", "neuron:4(SOCK:1)", "neuron(CNT:many)", "neuron:a:12345"),
    ],
)
def test_what_is_not_read_of_an_entry_is_a_fault(entry: str) -> None:
    listing = json.dumps({"jobs": [slurm(8, "h[0-1]", "gpu:1", f"gpu:1,{entry}")]}).encode()
    with pytest.raises(InvalidFileError) as refused:
        read_jobs("slurm", [ImportFile("jobs.json", io.BytesIO(listing))])
    (fault,) = refused.value.errors
    assert fault.startswith(f"jobs.json:1.jobs[0].gres_detail[1]: '{entry}' names no chips")


def test_hosts_are_those_that_are_bound(engine: Engine) -> None:
    with write_transaction(engine) as connection:
        bind(connection, [pinned_binding(connection, f"{ULTRA}/s3", "ip-10-0-0-7.ec2.internal")], who="me")
        jobs = [slurm(1, "ip-10-0-0-7", "neuron:1(IDX:3)"), slurm(2, "cpu[1-2]")]
        listing = {"jobs": [*jobs, slurm(3, HOSTS[0], "neuron:1(IDX:77)")]}
        with pytest.raises(InvalidFileError) as refused:
            told(connection, listing)
        assert refused.value.errors == [
            f"jobs.json:1.jobs[1]: job job2 is on cpu{number}, which has no slot; run trninv bind SLOT cpu{number}"
            for number in (1, 2)
        ] + [f"jobs.json:1.jobs[2]: job job3: {HOSTS[0]} has no chip 77"]
        assert counts(told(connection, listing, keep_going=True)) == (1, 0, 0, 0)
        assert held(connection) == {"job1": ["s3/c3"]}


def test_a_name_of_the_template_is_no_slot_that_another_host_is_bound_to(engine: Engine) -> None:
    with write_transaction(engine) as connection:
        bind(connection, [pinned_binding(connection, f"{ULTRA}/s0", "elsewhere")], who="me")
        bind(connection, [pinned_binding(connection, f"{ULTRA}/s1", "i-0123456789abcdef0")], who="me")
        chip = "neuron:1(IDX:0)"
        for name in (HOSTS[0], "u-trn2x64-d00-s2", "u-trn2x64-d0-s02"):
            with pytest.raises(InvalidFileError) as refused:
                told(connection, {"jobs": [slurm(1, name, chip)]})
            assert f"job job1 is on {name}, which has no slot" in refused.value.errors[0]
        assert counts(told(connection, {"jobs": [slurm(1, HOSTS[1], chip), slurm(2, HOSTS[2], chip)]})) == (2, 0, 0, 0)


def test_no_chip_is_held_twice_in_the_past(engine: Engine) -> None:
    """A listing comes late: the one before a job's own ended, by what was known, after the job had begun."""
    listing = {"jobs": [slurm(1, HOSTS[0], "neuron:2(IDX:0-1)")]}
    with write_transaction(engine) as connection:
        allocate(connection, "mine", [f"{ULTRA}/s0/c0"], who="me")
        release(connection, "mine")
        found = told(connection, listing)
        assert (found.allocated, found.started_late) == (1, 1)
        query = "SELECT chip_id, started_at, ended_at FROM allocation ORDER BY chip_id, id"
        before, after, other = connection.execute(text(query)).all()
        assert after.started_at == before.ended_at
        assert (
            other.started_at
            == job_allocations.list_jobs(connection, None, 10)[-1].started_at
            == "2026-09-21T14:13:20.000000+00:00"
        )
        told(connection, {"jobs": []}, allow_empty=True)
        again = told(connection, {"jobs": [slurm(2, HOSTS[0], "neuron:3(IDX:0-2)", start_time=1_790_000_900)]})
        assert again.started_late == 1
        twice = "SELECT count(*) FROM allocation AS a JOIN allocation AS b USING (chip_id) WHERE a.id < b.id"
        assert connection.scalar(text(f"{twice} AND b.started_at < a.ended_at")) == 0


def test_claims_name_devices(engine: Engine) -> None:
    devices = [
        {
            "name": "neuron-device-9",
            "attributes": {"deviceId": {"int": 3}, "resourceType": {"string": "neuron_device"}},
        },
        {"name": "node", "attributes": {"resourceType": {"string": "neuron_node"}}},
    ]
    pool = {"name": "p", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": "neuron.aws.com", "nodeName": HOSTS[0], "pool": pool, "devices": devices}
    items = [
        claim("a", ("p", "neuron-device-9"), (HOSTS[1], "neurondevice5")),
        claim("b", (HOSTS[2], "neuron-device-0"), adminAccess=True),
        claim("c") | {"status": {}},
        {"kind": "ResourceSlice", "spec": spec},
    ]
    with write_transaction(engine) as connection:
        assert counts(told(connection, {"kind": "List", "items": items}, "kubernetes")) == (1, 0, 0, 0)
        assert held(connection) == {"ml/a": ["s0/c3", "s1/c5"]}
        (job,) = job_allocations.list_jobs(connection, None, 10)
        assert (job.external_id, job.who) == ("uid-a", "pod-1")
        whole = {"kind": "List", "items": [claim("a", ("p", "node"), ("p", "neuron-device-9")), items[-1]]}
        assert counts(told(connection, whole, "kubernetes")) == (0, 1, 0, 0)
        assert len(held(connection)["ml/a"]) == 16
        with pytest.raises(InvalidFileError) as refused:
            told(connection, claim("a", ("p", "what")), "kubernetes")
        assert "has a device that no ResourceSlice lists" in refused.value.errors[0]
        with pytest.raises(InvalidFileError, match="nothing was imported") as refused:
            told(connection, {"kind": "List", "items": [*items, {"kind": "Pod"}]}, "kubernetes")
        assert "items[4]: is a Pod, which does not say which chips it has" in refused.value.errors[0]


@pytest.mark.parametrize(
    ("job", "fault"),
    [
        ({"job_id": "7"}, ".job_id: is '7', not a whole number"),
        (slurm(1, "a[1-"), ".nodes: 'a[1-' is not a host list"),
        (slurm(1, "a[1-999999999]"), ".nodes: [1-999999999] expands to more than 1,000,000 names; split the list"),
        (slurm(1, "a[9-1]"), ".nodes: [9-1] is not a list of number ranges"),
        (slurm(1, "a", start_time=10**15), ".start_time: is 1000000000000000, not a whole number"),
        (slurm(8, "a"), ": job 8 is listed twice"),
        ({"name": "x"}, ": has no job_id"),
    ],
)
def test_every_fault_has_its_place(job: Mapping[str, Any], fault: str) -> None:
    listing = json.dumps({"jobs": [slurm(8, "a"), job]}).encode()
    with pytest.raises(InvalidFileError) as refused:
        read_jobs("slurm", [ImportFile("jobs.json", io.BytesIO(listing))])
    (told,) = refused.value.errors
    assert told.startswith(f"jobs.json:1.jobs[1]{fault}")


def test_jobs_as_yaml_are_those_as_json() -> None:
    """``squeue --yaml`` of 22.05 has a tag at every value, ``kubectl -o yaml`` none."""
    slurms = (
        "%YAML 1.1\n--- !!map\n!!str errors: !!seq []\n!!str jobs: !!seq\n- !!map\n  !!str job_id: !!int 1\n"
        "  !!str name: !!str job1\n  !!str job_state: !!str RUNNING\n  !!str nodes: !!str a[0-1]\n"
        "  !!str user_name: !!str ann\n  !!str array_task_id: !!null null\n  !!str gres_detail: !!seq\n"
        "  - !!str neuron:trainium2:16(IDX:0-15)\n  - !!str neuron:trainium2:2(IDX:0-1)\n"
        "  !!str start_time: !!int 1790000000\n  !!str priority: !!int 5\n  !!str billable_tres: !!float 768.000000\n"
    )
    details = "neuron:trainium2:16(IDX:0-15)", "neuron:trainium2:2(IDX:0-1)"
    claims = {"kind": "List", "items": [claim("a", (HOSTS[0], "neuron-device-0"))]}
    for kind, written, printed in (
        ("slurm", slurms, {"jobs": [slurm(1, "a[0-1]", *details)]}),
        ("kubernetes", yaml.safe_dump(claims), claims),
    ):
        one, two = (
            [replace(job, where="") for job in read_jobs(kind, [ImportFile("f", io.BytesIO(content.encode()))])]
            for content in (written, json.dumps(printed))
        )
        assert one == two != []


@pytest.mark.parametrize("name", [None, "", "null"])
def test_a_claim_without_a_name_is_a_fault(name: str | None) -> None:
    nameless = claim("a", (HOSTS[0], "neuron-device-0"))
    nameless["metadata"]["name"] = name
    with pytest.raises(InvalidFileError) as refused:
        read_jobs("kubernetes", [ImportFile("claims.json", io.BytesIO(json.dumps({"items": [nameless]}).encode()))])
    assert refused.value.errors == ["claims.json:1.items[0].metadata: has no name"]


def test_a_hostile_name_is_shown_and_not_obeyed(engine: Engine) -> None:
    with write_transaction(engine) as connection:
        told(connection, slurm(1, HOSTS[0], "neuron:1(IDX:0)", name="\x1b[2J\u202e" + "x" * 500))
        (job,) = job_allocations.list_jobs(connection, None, 10)
    assert job.name.startswith("\\u001b[2J\\u202ex")
    assert len(job.name) == job_allocations.MAX_TEXT


@pytest.mark.quick_on_postgresql
@pytest.mark.parametrize("seeds", [range(40), pytest.param(range(40, 200), marks=pytest.mark.slow)])
def test_a_spoilt_listing_is_held_whole_or_not_at_all(engine: Engine, seeds: range) -> None:
    squeue = {"jobs": [slurm(1, f"{HOSTS[0]},{HOSTS[1]}", "neuron:2(IDX:0-1)", "neuron:1(IDX:4)"), slurm(2, HOSTS[2])]}
    listings = {"slurm": squeue, "kubernetes": {"kind": "List", "items": [claim("a", (HOSTS[0], "neuron-device-0"))]}}
    became = Counter[str]()
    with write_transaction(engine) as connection:
        for seed, (kind, listing) in itertools.product(seeds, listings.items()):
            content, before = spoilt(json.dumps(listing).encode(), random.Random(seed)), held(connection)
            try:
                import_jobs(connection, kind, read_jobs(kind, [ImportFile("f", io.BytesIO(content))]))
            except (InvalidFileError, InvalidArgumentError) as refused:
                assert held(connection) == before
                became[type(refused).__name__] += 1
            else:
                became["held"] += 1
    assert became["held"]
    assert became["InvalidFileError"]


_JOB = st.tuples(st.integers(1, 5), st.integers(0, 3), st.integers(0, 1))
_JOBS = st.lists(_JOB, max_size=5, unique_by=lambda job: job[0])


@pytest.mark.drawing
def test_after_any_listings_what_is_held_is_the_last_one(databases: Databases) -> None:
    with temporary_engine(databases.seeded("sqlite")) as engine:

        @examples(40)
        @given(listings=st.lists(_JOBS, min_size=1, max_size=4))
        def check(listings: Sequence[Sequence[tuple[int, int, int]]]) -> None:
            with write_transaction(engine) as connection:
                for listing in listings:
                    _held_as_listed(connection, listing)
                connection.rollback()

        check()


def _held_as_listed(connection: Connection, listing: Sequence[tuple[int, int, int]]) -> None:
    wanted = {f"job{identity}": f"s{server}/c{chip}" for identity, server, chip in listing}
    jobs = [slurm(each, HOSTS[server], f"neuron:1(IDX:{chip})") for each, server, chip in listing]
    before = set(held(connection))
    found = told(connection, {"jobs": jobs}, keep_going=True, allow_empty=True)
    now = held(connection)
    assert sorted(chip for (chip,) in now.values()) == sorted(set(wanted.values()))
    assert all(wanted[name] == chip for name, (chip,) in now.items())
    assert len(found.omitted) == len(wanted) - len(now)
    assert (found.allocated, found.ended) == (len(set(now) - before), len(before - set(now)))


def test_the_command_says_what_became_of_a_listing(run: Run, seeded: str, tmp_path: Path) -> None:
    listing = tmp_path / "squeue.json"
    listing.write_text(json.dumps({"jobs": [slurm(1, HOSTS[0], "neuron(CNT:4)")]}))

    def ask(*words: str) -> tuple[int, str, str]:
        return run("import", "jobs", "slurm", *words, str(listing), database=seeded)

    assert ask("--dry-run")[1].startswith(
        "slurm: 1 allocated, 0 moved, 0 unchanged, 0 ended (dry run: nothing was stored)\n"
    )
    assert ask()[1] == (
        "slurm: 1 allocated, 0 moved, 0 unchanged, 0 ended\nallocated as whole servers, since the listing names "
        "no chips: 1 job\n"
    )
    assert json.loads(ask("--format", "json")[1])["unchanged"] == 1
    status, _, error = ask("--as", "other")
    assert (status, error.splitlines()[-1]) == (2, "trninv: 1 error; nothing was imported")
    assert "16 chips of job job1 of slurm" in error
