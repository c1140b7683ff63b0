"""NICs as ports: what a chip sends through one goes up from it, and never to another chip that shares it.

A NIC is two nodes of a kind of their own, an out-port and an in-port (`trninv.solvers.arcs`). Let S be a set of nodes
and T all others, c(S) what the NIC's links to nodes of S carry and u(S) what its uplinks to nodes of S do. Traffic from
S to T through the out-port is cut before it, at c(S), or behind it, at u(T); through the in-port at u(S) or c(T). Each
port stands where it costs less, so the NIC adds

    min(c(S), u(T)) + min(u(S), c(T))

to the cut, which is the same for T. Where S is chips and the fabric is in T, that is min(c(S), u). A single node would
add min(c(S), c(T) + u), which is more where three chips share it: two of them would send as much to the third.
"""

from trninv.solvers.graph import Graph, nics_in


def without_dead_nics(graph: Graph) -> Graph:
    """Copy a graph without the NICs that lead to no network node."""
    made = Graph(graph)
    for nic in nics_in(graph):
        if not any(graph.nodes[near]["kind"] == "network_node" for near in graph[nic]):
            made.remove_node(nic)
    return made


def folded(graph: Graph) -> Graph:
    """Copy a graph with each NIC of one chip and one uplink as a link from the chip to the network node."""
    made = without_dead_nics(graph)
    for nic in nics_in(made):
        above = [near for near in made[nic] if made.nodes[near]["kind"] == "network_node"]
        users = set(made[nic]).difference(above)
        if len(users) > 1 or len(above) > 1:
            continue
        for user in users:
            before = made.edges[user, above[0]]["capacity"] if made.has_edge(user, above[0]) else 0
            through = min(link["capacity"] for link in made[nic].values())
            made.add_edge(user, above[0], capacity=before + through)
        made.remove_node(nic)
    return made
