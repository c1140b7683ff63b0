"""Host lists and host names: what is folded unfolds again, and no name means anything else to a scheduler."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import examples
from trninv.errors import NotExpressibleError, UsageError
from trninv.hostlist import expand, fold
from trninv.inventory.address.hostnames import ServerAddress, hostnames


@pytest.mark.parametrize(
    ("names", "hostlist"),
    [
        (["lab-d0-s0"], "lab-d0-s0"),
        (["a", "b"], "a,b"),
        ([f"lab-d{d}-s{s}" for d in range(3) for s in range(4)], "lab-d[0-2]-s[0-3]"),
        (["lab-d0-s0", "lab-d0-s1", "lab-d0-s3"], "lab-d0-s[0-1,3]"),
        (["n08", "n09", "n10"], "n[08-09],n10"),
        (["n2", "n1", "n0"], "n[2,1,0]"),
        (["n001", "n002", "n007"], "n[001-002,007]"),
        ([f"lab-d{d}-s0" for d in range(12)], "lab-d[0-11]-s[0]"),
        (["lab-d0-s0.x", "lab-d0-s1.x"], "lab-d0-s0.x,lab-d0-s1.x"),  # Slurm refuses text after the last bracket
        (["a1b2c3", "a1b3c3"], "a1b[2-3]c[3]"),
        ([], ""),
    ],
)
def test_names_fold(names: list[str], hostlist: str) -> None:
    assert fold(names) == hostlist
    assert expand(hostlist) == names


@examples(25)
@given(st.lists(st.from_regex(r"[a-z]{1,2}(-?[0-9]{1,3}[a-z]?){0,3}", fullmatch=True), unique=True))
def test_what_is_folded_unfolds_in_its_order(names: list[str]) -> None:
    assert expand(fold(names)) == names


@pytest.mark.parametrize(
    "bad",
    ["a[0-", "a[0-1", "a]", "a[5-3]", "a[x]", "a[1-2000000]", "a[0-999]b[0-999]c[0-9]", "a,,b", "a[]", "a[5-3],b"],
)
def test_what_is_no_hostlist_is_refused(bad: str) -> None:
    with pytest.raises(UsageError):
        expand(bad)


SLOTS = [ServerAddress("lab", 0, 0), ServerAddress("lab", 0, 1), ServerAddress("lab", 11, 0)]


def test_a_template_names_servers() -> None:
    assert hostnames(SLOTS) == ["lab-d0-s0", "lab-d0-s1", "lab-d11-s0"]
    assert hostnames(SLOTS, "n{domain:03}x{server:02}.{cluster}")[2] == "n011x00.lab"


INJECTING = [
    *("a b", "a=b", "x[0-9]", "a#", "A", "a,", "a\n", "-", "é", "a\u202e", "٣", "a..b", "_", "$(x)", "a\\", "a'", 'a"'),
    "a" * 64,
]


@pytest.mark.parametrize("template", ["", "{domain}-{server}.", *(f"{bad}{{domain}}-{{server}}" for bad in INJECTING)])
def test_a_name_that_would_inject_is_refused(template: str) -> None:
    with pytest.raises(NotExpressibleError, match="can't name a machine"):
        hostnames(SLOTS, template)


@pytest.mark.parametrize("template", ["{cluster.__class__}", "{0}", "{rack}", "{domain!r}", "{domain:99}", "{", "a}"])
def test_a_blank_that_nothing_fills_is_refused(template: str) -> None:
    with pytest.raises(UsageError, match="unknown placeholder"):
        hostnames(SLOTS, template)


def test_one_name_for_two_servers_is_refused() -> None:
    with pytest.raises(UsageError, match="calls lab/d0/s0 and lab/d11/s0 both n0"):
        hostnames(SLOTS, "n{server}")
    with pytest.raises(UsageError, match="both n111"):
        hostnames([ServerAddress("lab", 1, 11), ServerAddress("lab", 11, 1)], "n{domain}{server}")


def test_an_underscore_of_a_cluster_is_no_character_of_a_host_name() -> None:
    with pytest.raises(NotExpressibleError, match="give another --hostname"):
        hostnames([ServerAddress("my_lab", 0, 0)])


@pytest.mark.slow
@pytest.mark.parametrize(
    "names",
    [
        [f"lab-d{d}-s0" for d in range(12)],
        [f"lab-d{d}-s{s}" for d in range(3) for s in range(4)],
        [f"ip-10-0-0-{n}.us-west-2.compute.internal" for n in range(12)],
        ["a1b2c3", "a1b3c3"],
    ],
)
def test_slurm_reads_what_is_folded(names: list[str], tmp_path: Path) -> None:
    (tmp_path / "slurm.conf").write_text(
        "ClusterName=x\nSlurmctldHost=localhost\nNodeName=a\nPartitionName=p Nodes=a\n"
    )
    command = ["scontrol", "show", "hostnames", fold(names)]
    environment = {"SLURM_CONF": str(tmp_path / "slurm.conf"), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == names
