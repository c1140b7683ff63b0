"""NICs as ports: what a chip sends through one goes up from it, and never to another chip that shares it."""

from trninv.solvers.graph import Graph


def as_ports(graph: Graph) -> Graph:
    """The graph with no NIC that leads nowhere, and no link to a NIC that carries more than what leads up from it.

    Then a cut through a NIC that two chips share costs what it must, wherever the NIC stands.
    """
    made = Graph(graph)
    for nic in [node for node, of in graph.nodes(data=True) if of["kind"] == "nic"]:
        above = [near for near in graph[nic] if graph.nodes[near]["kind"] == "network_node"]
        up = sum(graph.edges[nic, near]["capacity"] for near in above)
        if not up:
            made.remove_node(nic)
        for user in set(graph[nic]).difference(above) if up else ():
            if graph.edges[user, nic]["capacity"] > up:
                made.add_edge(user, nic, **graph.edges[user, nic] | {"capacity": up})
    return made


def folded(graph: Graph, above: int) -> Graph:
    """The same, with each NIC of one chip as a link from that to the node above it."""
    made = as_ports(graph)
    for nic in [node for node, of in made.nodes(data=True) if of["kind"] == "nic"]:
        users = [near for near in made[nic] if near != above]
        if len(users) > 1:
            continue
        for user in users:
            before = made.edges[user, above]["capacity"] if made.has_edge(user, above) else 0
            made.add_edge(user, above, capacity=before + made.edges[user, nic]["capacity"])
        made.remove_node(nic)
    return made
