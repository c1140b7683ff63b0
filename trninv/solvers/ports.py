"""Model NICs as ports: what a chip sends through its NIC goes up, never to another chip on the same NIC.

A NIC is two nodes, an out-port and an in-port (`trninv.solvers.arcs`). Let S be a set of nodes and T all others, c(S)
the capacity of the NIC's links to chips in S and u(S) that of its uplinks to network nodes in S. Traffic from S to T
through the out-port is cut before it, at c(S), or behind it, at u(T); through the in-port at u(S) or c(T). Each port
goes to its cheaper side, so the NIC adds

    min(c(S), u(T)) + min(u(S), c(T))

to the cut, the same seen from T. If S is chips only and the fabric is in T, that is min(c(S), u). A single node would
add min(c(S), c(T) + u). That is too much if three chips share the NIC: two of them could send through it to the third.
"""

from trninv.solvers.graph import Graph, nics_in


def without_dead_nics(graph: Graph) -> Graph:
    """Copy a graph without the NICs that have no uplink; O(V + E).

    Examples
    --------
    >>> graph = Graph()
    >>> graph.add_nodes_from([(1, {"kind": "chip"}), (2, {"kind": "nic"}), (3, {"kind": "nic"})])
    >>> graph.add_node(4, kind="network_node")
    >>> graph.add_edges_from([(1, 2), (1, 3), (2, 4)])
    >>> list(without_dead_nics(graph))
    [1, 2, 4]

    """
    copy = Graph(graph)
    for nic in nics_in(graph):
        if not any(graph.nodes[neighbor]["kind"] == "network_node" for neighbor in graph[nic]):
            copy.remove_node(nic)
    return copy


def contract_nics(graph: Graph) -> Graph:
    """Copy a graph, replacing each NIC with one chip and one uplink by a link between chip and network node; O(V + E).

    Several NICs between the same chip and network node become one link of their summed capacity.

    Examples
    --------
    >>> graph = Graph()
    >>> graph.add_nodes_from([(1, {"kind": "chip"}), (2, {"kind": "nic"}), (3, {"kind": "nic"})])
    >>> graph.add_node(4, kind="network_node")
    >>> graph.add_weighted_edges_from([(1, 2, 12), (2, 4, 10), (1, 3, 12), (3, 4, 10)], weight="capacity")
    >>> list(contract_nics(graph).edges(data="capacity"))
    [(1, 4, 20)]

    """
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
