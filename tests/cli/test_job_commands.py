"""Jobs on the command line: what is printed, and the status."""

import json

import pytest
from adopting import adopted, keep
from seen import TOP, below, instance

from conftest import Databases, Run
from trninv.database.engine import temporary_engine, write_transaction
from trninv.errors import UsageError
from trninv.exporters import schedulers
from trninv.inventory.address.lookup import resolve_place
from trninv.inventory.state.bindings import ProposedBinding, bind

pytestmark = pytest.mark.slow_on_postgresql

ULTRA = "u-trn2x64/d0"


def test_three_jobs_a_closed_server_and_what_still_fits(run: Run, seeded: str) -> None:
    def ask(*words: str) -> tuple[int, str, str]:
        return run(*words, database=seeded)

    assert ask("allocate", "a", f"{ULTRA}/s0", "--who", "me")[0] == 0
    assert ask("allocate", "b", f"{ULTRA}/s1/c0", "--spare", f"{ULTRA}/s1/c1", "--pinned", "--who", "me")[0] == 0
    status, _, error = ask("allocate", "c", f"{ULTRA}/s0/c3", "--who", "me")
    assert (status, error) == (
        1,
        f"trninv: {ULTRA}/s0/c3 is allocated to job a; release it, or choose free chips (trninv place)\n",
    )
    _, printed, _ = ask("jobs")
    assert [line.split()[0] for line in printed.splitlines()[2:]] == ["a", "b"]
    assert [line.split()[-2:] for line in printed.splitlines()[2:]] == [["False", "me"], ["True", "me"]]
    _, printed, error = ask("jobs", "--limit", "1")
    assert (len(printed.splitlines()), error) == (3, "only the first 1 are shown: --limit N shows more\n")
    assert ask("jobs", "--limit", "1", "--format", "json")[2] == error
    assert not ask("jobs", "--limit", "2")[2]
    found = json.loads(ask("jobs", f"{ULTRA}/s1", "--format", "json")[1])
    assert [(job["name"], job["chips"], job["externalId"]) for job in found] == [("b", 2, "b")]
    assert "key" not in found[0]
    assert "s3" in ask("cordon", f"{ULTRA}/s3", "--why", "fw", "--who", "me")[1]
    assert "already cordoned" in ask("cordon", f"{ULTRA}/s3", "--why", "fw", "--who", "me")[1]
    assert "fw" in ask("cordons")[1]
    status, printed, _ = ask("place", ULTRA, "--servers", "1")
    assert (status, f"trninv:     trninv allocate JOB {ULTRA}/s2\n" in printed) == (0, True)
    assert "Slurm:      sbatch --nodes=1 --nodelist=u-trn2x64-d0-s2 --exclusive\n" in printed
    assert ask("place", ULTRA, "--servers", "2")[0] == 1
    assert "not cordoned" in ask("uncordon", f"{ULTRA}/s2")[1]
    assert ask("uncordon", f"{ULTRA}/s3")[0] == 0
    assert ask("place", ULTRA, "--servers", "2")[0] == 0
    assert ask("release", "a")[1] == "a: released 16 chips\n"
    ended = json.loads(ask("jobs", "--ended", "--format", "json")[1])[0]["endedAt"]
    assert ask("release", "a")[1] == f"a: ended already at {ended}\n"
    assert json.loads(ask("release", "a", "--format", "json")[1])["endedAt"] == ended
    assert ask("release", "nobody")[0] == 1
    assert "48" not in ask("free", ULTRA)[1].splitlines()[0]
    assert ask("fragmentation", ULTRA)[0] == 0
    assert ask("verify")[0] == 0


def test_lines_name_chips_where_a_scheduler_can(run: Run) -> None:
    _, printed, _ = run("place", ULTRA, "--chips", "4", "-k", "1", "--hostname", "node{domain:02}{server}")
    assert "--nodelist=node000 --exclusive   (whole servers: more than the 4 chips)" in printed
    assert (
        'kubernetes.io/hostname: node000}  DRA: device.attributes["neuron.aws.com"].deviceId in [0, 1, 2, 3]' in printed
    )
    found = json.loads(run("place", ULTRA, "--servers", "4", "--format", "json")[1])["placements"]
    assert found[0]["slurm"] == "sbatch --nodes=4 --nodelist=u-trn2x64-d0-s[0-3] --exclusive"
    assert len(found[0]["kubernetes"]) == 4


def test_lines_name_bound_hosts_as_topology_does(run: Run, databases: Databases) -> None:
    url = databases.migrated("sqlite")
    host = "ip-10-0-0-{}.us-west-2.compute.internal"
    with temporary_engine(url) as engine:
        instances = [instance(n, "trn2u.48xlarge", "cb-1") | {"PrivateDnsName": host.format(n)} for n in range(1, 5)]
        with write_transaction(engine) as connection:
            keep(connection, "ec2", {"Reservations": [{"Instances": instances}]})
        adopted(engine, *(below(each, TOP) for each in instances), name="prod")
    assert run("unbind", "prod/d0/s3", database=url)[0] == 0
    tree = run("topology", "prod", "--as", "slurm-tree", database=url)[1]
    placed = json.loads(run("place", "prod", "--servers", "4", "--format", "json", database=url)[1])["placements"][0]
    hosts = [*map(host.format, (1, 2, 3)), "prod-d0-s3"]
    names = ",".join(hosts)
    assert f"Nodes={names}\n" in tree
    assert f"--nodelist={names} " in placed["slurm"]
    selected = [line.removeprefix("nodeSelector: {kubernetes.io/hostname: ") for line in placed["kubernetes"]]
    assert selected == [f"{name}}}" for name in hosts]
    printed = run("place", "prod", "--chips", "16", database=url)[1]
    assert f"--nodelist={host.format(1)} --exclusive\n" in printed
    assert f"nodeSelector: {{kubernetes.io/hostname: {host.format(1)}}}\n" in printed


def test_a_host_that_no_line_can_name_is_said_and_the_answer_still_printed(run: Run, databases: Databases) -> None:
    url = databases.seeded("sqlite")
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        for number, host in enumerate(("n0", "Node_1")):
            place = resolve_place(connection, f"{ULTRA}/s{number}")
            slot = ProposedBinding(place.id, place.address, f"i-{number}", host, "pin", "certain", None)
            bind(connection, [slot], who="me")
    reason = f"{ULTRA}/s1: no line can name its host Node_1, which is no DNS name in lower case"
    status, printed, _ = run("place", ULTRA, "--servers", "4", database=url)
    assert (status, "Slurm: " in printed, reason in printed) == (0, False, True)
    assert f"trninv:     trninv allocate JOB {ULTRA}" in printed
    placed = json.loads(run("place", ULTRA, "--servers", "4", "--format", "json", database=url)[1])["placements"][0]
    assert (placed["slurm"], placed["nameless"]) == (None, [reason])
    assert [line.partition("hostname: ")[2] for line in placed["kubernetes"]] == [
        f"{name}}}" for name in ("n0", "u-trn2x64-d0-s2", "u-trn2x64-d0-s3")
    ]


@pytest.mark.parametrize("words", [["jobs", "--limit", "0"], ["place", ULTRA], ["allocate", "a"], ["cordon", ULTRA]])
def test_wrong_use_has_status_2(run: Run, words: list[str]) -> None:
    assert run(*words)[0] == 2


def test_a_template_without_a_server_is_refused() -> None:
    with pytest.raises(UsageError, match="calls"):
        schedulers.sbatch_arguments([f"{ULTRA}/s0", f"{ULTRA}/s1"], "node{domain}", {})
