"""The fabric: every domain below one node of each tier, every uplink the sum of what is below it."""

from collections import Counter

import networkx as nx
from hypothesis import given
from hypothesis import strategies as st

from trninv.topology.clos import ClosFabric


@given(st.integers(2, 500), st.integers(1, 40), st.integers(1, 40))
def test_a_tree_whose_uplinks_carry_all_below(domains: int, per_node: int, nodes: int) -> None:
    fabric = ClosFabric(domains, per_node, nodes)
    listed = list(fabric.nodes())
    assert [node.local for node in listed] == list(range(len(listed)))
    assert tuple(Counter(node.tier for node in listed)[tier] for tier in (1, 2, 3)) == fabric.sizes
    tree = nx.DiGraph((link.b, link.a) for link in fabric.uplinks())
    assert nx.is_arborescence(tree)
    assert all(link.a < link.b for link in fabric.uplinks())
    below = {link.a: link.domains for link in fabric.uplinks()}
    tier = {node.local: node.tier for node in listed}
    for node in tree:
        hanging = Counter(domain // per_node for domain in range(domains))[node] if tier[node] == 3 else None
        carried = hanging if hanging is not None else sum(below[near] for near in tree.successors(node))
        assert carried == below.get(node, domains)
