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
    copy = Graph(graph)
    for nic in nics_in(graph):
        if not any(graph.nodes[neighbor]["kind"] == "network_node" for neighbor in graph[nic]):
            copy.remove_node(nic)
    return copy


def contract_nics(graph: Graph) -> Graph:
    """Copy a graph with each NIC of one chip and one uplink as a link from the chip to the network node."""
    contracted = without_dead_nics(graph)
    for nic in nics_in(contracted):
        network_nodes = [
            neighbor for neighbor in contracted[nic] if contracted.nodes[neighbor]["kind"] == "network_node"
        ]
        chips = set(contracted[nic]).difference(network_nodes)
        if len(chips) > 1 or len(network_nodes) > 1:
            continue
        for chip in chips:
            direct = (
                contracted.edges[chip, network_nodes[0]]["capacity"]
                if contracted.has_edge(chip, network_nodes[0])
                else 0
            )
            nic_capacity = min(link["capacity"] for link in contracted[nic].values())
            contracted.add_edge(chip, network_nodes[0], capacity=direct + nic_capacity)
        contracted.remove_node(nic)
    return contracted
