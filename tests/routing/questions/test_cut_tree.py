"""The pair of chips with the least maximum flow, and its cut."""

import pytest

from trninv.routing.fleet import BaseFleet

pytestmark = pytest.mark.slow_on_postgresql

GB = 10**9
U = "u-trn2x64/d0"


def test_the_worst_connected_pair_is_cut_off_by_its_links(fleet: BaseFleet) -> None:
    lost = fleet.what_if([f"{U}/s2/c7--{U}/s2/c6", f"{U}/s2/c7--{U}/s1/c7"]).cut_tree(U)
    assert (lost.min_flow, lost.disconnected_chips) == ((640 - 128 - 64) * GB, (f"{U}/s2/c7",))
    assert sum(link.bandwidth for link in lost.cut) == lost.min_flow
    alone = fleet.cut_tree("trn1.2xlarge")
    assert (alone.a, alone.min_flow, alone.cut) == (None, 0, ())
