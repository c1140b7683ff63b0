"""Define the methods of a fleet that notebooks need beside its questions: SQL as Arrow, and the wiring as a graph."""

from contextlib import closing, nullcontext
from typing import TYPE_CHECKING, Any

from trninv.database.snapshot import SharedSnapshot
from trninv.errors import UsageError
from trninv.inventory.address.lookup import resolve_place
from trninv.inventory.address.rows_in import row_ids_in
from trninv.routing.graph_comparison import GraphComparison, common_place, compare_graphs
from trninv.routing.question_methods import reading
from trninv.routing.snapshot import Snapshot, SnapshotSource
from trninv.routing.wiring import domains_of_nodes, load_wiring

if TYPE_CHECKING:
    from trninv.solvers.graph import Graph


class NotebookMethods:
    """Methods of `BaseFleet`."""

    _source: SnapshotSource

    def shared_snapshot(self) -> SharedSnapshot:
        """Return the snapshot that this fleet reads; a new one, which the caller closes, if it reads the latest."""
        return self._source.shared or SharedSnapshot(self._source.tracker)

    def sql(self, query: str, *, seconds: float = 60.0, max_rows: int = 10_000) -> Any:
        """Run one read-only SELECT over the tables and views, and return its rows as a table of pyarrow.

        Raises
        ------
        SqlError
            It is not such a query, or has more rows than ``max_rows``.
        TimeLimitError
            It took longer than ``seconds``.
        UsageError
            PyArrow is not installed, or the fleet has a scenario, which SQL can't see.

        """
        from trninv.reports.query_compiler import compile_query  # noqa: PLC0415 # the SQL parser takes 8 MB
        from trninv.reports.query_runner import run_query  # noqa: PLC0415 # as above
        from trninv.reports.row_formats import arrow_table  # noqa: PLC0415 # as above

        if self._source.scenario is not None:
            raise UsageError("SQL can't see a scenario; call sql on the fleet without it")
        compiled, snapshot = compile_query(query, self._source.tracker.engine.dialect.name), self.shared_snapshot()
        with nullcontext() if self._source.shared else closing(snapshot):
            return arrow_table(run_query(snapshot, compiled, seconds=seconds, max_rows=max_rows))

    @reading
    def graph(self, scope: str) -> "Graph":
        """Return the wiring of a scope as a networkx graph, for notebooks.

        Nodes are the addresses of chips and of the switches and NICs that they are linked to; if the scope has several
        domains, also of the network nodes of their fabric. They have ``kind``, ``rack`` and ``server`` (ordinals),
        ``memory`` (bytes) and ``position`` (coordinates), each None if the part has none. Edges have ``bandwidth``
        (bytes per second in one direction, of degraded parts what is left), ``model`` and ``technology``. Only parts
        that carry traffic are included.
        """
        with self._source.open() as snapshot:
            return build_graph(snapshot, scope)

    def check_against(
        self, graph: "Graph", scope: str | None = None, *, bandwidth: str = "bandwidth", tolerance: float = 0.0
    ) -> GraphComparison:
        """Compare a networkx graph of addresses with the wiring of a scope: what is missing, extra or of another speed.

        The wiring is that of `graph`, so a failed part counts as missing from the inventory; compare with the fleet at
        an earlier time to include it. An edge may have its bandwidth in bytes per second or as a text ("128 GB/s").

        Parameters
        ----------
        scope
            By default the smallest place that contains all chips of the graph.
        bandwidth
            The edge attribute with the bandwidth of one direction; edges without it are only compared by their ends.
        tolerance
            The part of a bandwidth by which the graph's may differ, such as 0.05 for measured values.

        Raises
        ------
        InvalidArgumentError
            It is no graph of networkx, or an attribute is no bandwidth.

        """
        scope = scope or common_place(graph)
        return compare_graphs(scope, self.graph(scope), graph, bandwidth, tolerance)


def build_graph(snapshot: Snapshot, scope: str) -> "Graph":
    """Return the chips of a scope, what they are linked to and, of several domains, their fabric."""
    from trninv.solvers.graph import Graph  # noqa: PLC0415 # networkx is slow to import

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
