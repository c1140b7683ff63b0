"""Servers that contain the parts of an incident."""

import pytest

from trninv.incidents.incident_context import enclosing_servers


@pytest.mark.parametrize(
    ("address", "servers"),
    [
        ("lab/d17/s2", ["lab/d17/s2"]),
        ("lab/d17/s2/c5", ["lab/d17/s2"]),
        ("lab/d17/s2/c5/nc1", ["lab/d17/s2"]),
        ("lab/d17/s2/efa3", ["lab/d17/s2"]),
        ("lab/d17/s2/c5--lab/d17/s2/c6", ["lab/d17/s2"]),
        ("lab/d17/s2/c5--lab/d17/s3/c5", ["lab/d17/s2", "lab/d17/s3"]),
        ("lab/d17/s2/c5--lab/d17/sw0", ["lab/d17/s2"]),
        ("lab/d17/s2/efa3--lab/fabric/t3/n0", ["lab/d17/s2"]),
        ("lab/d17/sw0", []),
        ("lab/d17", []),
        ("lab/r1", []),
        ("lab/fabric/t3/n0", []),
    ],
)
def test_a_part_is_in_the_servers_of_its_ends(address: str, servers: list[str]) -> None:
    assert enclosing_servers(address) == servers
