"""Build the networkx graph of a scope's wiring, for `Fleet.graph`."""

from trninv.inventory.address.lookup import resolve_place
from trninv.inventory.address.rows_in import row_ids_in
from trninv.routing.snapshot import Snapshot
from trninv.routing.wiring import domains_of_nodes, load_wiring
from trninv.solvers.graph import Graph


def build_wiring_graph(snapshot: Snapshot, scope: str) -> Graph:
    """Return the chips of a scope, what they are linked to and, of several domains, their fabric."""
    chips = set(snapshot.connection.scalars(row_ids_in(resolve_place(snapshot.connection, scope), "chip")))
    domains = domains_of_nodes(snapshot.connection, chips)
    unchanged = load_wiring(snapshot.connection, domains, nics=True, fabric=len(domains) > 1)
    wiring = unchanged.with_scenario(snapshot.changes).graph
    neighbors = {neighbor for chip in chips if chip in wiring for neighbor in wiring[chip]}
    kind_of = {node: attributes["kind"] for node, attributes in wiring.nodes(data=True)}
    fabric = {node for node in wiring if kind_of[node] == "network_node"}
    kept_graph = wiring.subgraph(chips | fabric | {neighbor for neighbor in neighbors if kind_of[neighbor] != "chip"})
    graph = Graph()
    for _, node in kept_graph.nodes(data=True):
        graph.add_node(
            node["address"],
            **{key: node[key] for key in ("kind", "rack", "server", "memory", "position")},
        )
    for a, b, edge in kept_graph.edges(data=True):
        endpoints = kept_graph.nodes[a]["address"], kept_graph.nodes[b]["address"]
        graph.add_edge(*endpoints, bandwidth=edge["capacity"], model=edge["model"], technology=edge["technology"])
    return graph
