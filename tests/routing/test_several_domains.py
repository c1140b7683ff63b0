"""Questions about clusters of several domains: which refuse them, and which answer."""

import pytest

import trninv
from conftest import Databases
from graphs import seed_clusters
from trninv.errors import ScopeTooLargeError

pytestmark = pytest.mark.slow_on_postgresql

GB = 10**9
U = "u-trn2x64/d0"


def test_what_is_of_one_domain_says_so(databases: Databases) -> None:
    with trninv.open(seed_clusters(databases.migrated("sqlite"), {"trn2": 3})) as fleet:
        for question in (fleet.split_profile, fleet.cut_tree):
            with pytest.raises(ScopeTooLargeError, match="one domain"):
                question("c-trn2")
        assert fleet.memory_placement("c-trn2", "500 GiB", best=True).candidates_tried == 16
        limits = fleet.collectives("c-trn2")
        assert limits.all_to_all.exact
        assert limits.all_to_all.upper == pytest.approx(
            47 * 25 * GB / 32, rel=1e-8
        )  # an island's exit over those beyond
        assert limits.all_gather.exact
