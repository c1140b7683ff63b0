"""Domains of one model that do not stand beside each other in their cluster."""

from trninv.placement.candidates.free_capacity import ConsecutiveDomains, ModelDomains

NODES = 10
"""Nodes of each domain."""
GROUP = ModelDomains(
    1, "prod", "u-trn2x64", (ConsecutiveDomains(0, 2, 1, 11, 100), ConsecutiveDomains(2, 1, 5, 15, 150)), False
)
"""Domains d1, d2 and d5, with nodes 100 to 119 and 150 to 159."""


def test_rows_are_those_of_the_domains_in_order() -> None:
    assert (GROUP.domains, GROUP.ordinals.tolist(), GROUP.domain_ids.tolist()) == (3, [1, 2, 5], [11, 12, 15])
    assert [GROUP.ordinal(row) for row in range(3)] == [1, 2, 5]
    assert GROUP.rows_by_ordinal() == {1: 0, 2: 1, 5: 2}
    assert GROUP.domain_id_span() == {"first": 11, "end": 16}


def test_nodes_before_between_and_after_the_ranges_are_elsewhere() -> None:
    nodes = [0, 99, 100, 109, 110, 119, 120, 149, 150, 159, 160]
    rows = [row for row, _ in GROUP.locate(nodes, NODES)]
    assert rows == [-1, -1, 0, 0, 1, 1, -1, -1, 2, 2, -1]
    assert list(GROUP.locate([117, 150], NODES)) == [(1, 7), (2, 0)]
    assert list(GROUP.locate([], NODES)) == []
