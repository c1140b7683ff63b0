"""Write OpenMetrics for Prometheus: servers, nodes and links by state, unhealthy parts by address, and findings.

A finding is a disagreement between design and observation that ``trninv drift`` recorded.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import product
from typing import Any, Final

from prometheus_client import Metric
from prometheus_client.openmetrics.parser import text_fd_to_metric_families
from sqlalchemy import func, select

from trninv.database.finding_rules import FINDING_RULES
from trninv.database.tables import LINK_SCOPES, NODE_KINDS, STATES, TABLES, is_unhealthy
from trninv.exporters import graph_stream
from trninv.exporters.export_source import ExportSource
from trninv.exporters.format import Format
from trninv.exporters.serialization import Syntax
from trninv.inventory.address.expressions import node_addresses
from trninv.inventory.address.rows_in import rows_in
from trninv.reconcile.findings import list_findings

_NODE = TABLES["node"]
_HELP: Final = {
    "trninv_event": "Number of the last event.",
    "trninv_servers": "Servers by state.",
    "trninv_nodes": "Chips, switches, NICs and network nodes by kind and state, which may be their server's.",
    "trninv_links": "Links by state and by what they join.",
    "trninv_findings": "Open findings of the last trninv drift, by rule.",
    "trninv_unhealthy": "Unhealthy servers, and nodes that are unhealthy by their own state.",
}
"""The help text of each metric."""
_LABELS: Final = {
    "trninv_event": (),
    "trninv_servers": ("scope", "state"),
    "trninv_nodes": ("scope", "kind", "state"),
    "trninv_links": ("scope", "joins", "state"),
    "trninv_findings": ("scope", "rule", "severity"),
    "trninv_unhealthy": ("address", "kind", "state"),
}
"""The labels of each metric, in the order of a sample's values."""


def _content(source: ExportSource) -> Iterator[Any]:
    families: dict[str, Metric] = {name: Metric(name, text, "gauge") for name, text in _HELP.items()}
    for name, *values, number in _samples(source):
        families[name].add_sample(name, dict(zip(_LABELS[name], values, strict=True)), number)
    yield [family for family in families.values() if family.samples]


def _lines(families: list[Metric]) -> Iterator[str]:
    for family in families:
        yield f"# TYPE {family.name} {family.type}"
        yield f"# HELP {family.name} {family.documentation}"
        for sample in family.samples:
            labels = ",".join(f'{key}="{value}"' for key, value in sample.labels.items())
            yield f"{sample.name}{{{labels}}} {sample.value}" if labels else f"{sample.name} {sample.value}"
    yield "# EOF"


def _plain(families: Iterable[Metric]) -> Iterator[dict[str, Any]]:
    """Yield metrics as plain dictionaries, which can be compared part by part."""
    for family in families:
        samples = [{"labels": dict(sample.labels), "value": sample.value} for sample in family.samples]
        yield {"name": family.name, "type": family.type, "help": family.documentation, "samples": samples}


def _samples(source: ExportSource) -> Iterator[tuple[Any, ...]]:
    """Yield each sample: the metric's name, the values of its labels and its number."""
    scope = source.place.address
    yield "trninv_event", source.event
    states = [server.state for server in source.all_servers]
    for state in STATES:
        yield "trninv_servers", scope, state, states.count(state)
    query = select(_NODE.c.kind, _NODE.c.state, func.count()).where(rows_in(source.place, "node"))
    rows = source.snapshot.connection.execute(query.group_by(_NODE.c.kind, _NODE.c.state))
    counts = {(kind, state): count for kind, state, count in rows}
    for pair in product(NODE_KINDS, STATES):
        yield "trninv_nodes", scope, *pair, counts.get(pair, 0)
    counts = graph_stream.count_links(source)
    for pair in product(LINK_SCOPES, STATES):
        yield "trninv_links", scope, *pair, counts.get(pair, 0)
    findings_by_rule = Counter(item.rule for item in list_findings(source.snapshot.connection, scope))
    yield from (
        ("trninv_findings", scope, name, rule.severity, findings_by_rule[name]) for name, rule in FINDING_RULES.items()
    )
    yield from (("trninv_unhealthy", *item, 1) for item in _unhealthy_parts(source))


def _unhealthy_parts(source: ExportSource) -> Iterator[tuple[str, str, str]]:
    """Yield the address, kind and state of unhealthy servers, and of nodes that are unhealthy by their own state."""
    for server in source.all_servers:
        if server.state != "up":
            yield server.address, "server", server.state
    own = func.coalesce(_NODE.c.own_state, _NODE.c.state)
    query = (
        node_addresses()
        .add_columns(_NODE.c.kind, own)
        .where(rows_in(source.place, "node"), is_unhealthy(_NODE), own != "up")
    )
    for _, address, kind, state in source.snapshot.connection.execute(query.order_by(_NODE.c.id + 0)):
        yield address, kind, state


_SYNTAX = Syntax(
    write=_lines,
    read=lambda file: _plain(text_fd_to_metric_families(file)),  # type: ignore[no-untyped-call]
    flatten=_plain,
    comment_template="",
)
FORMAT = Format(
    name="openmetrics",
    suffix=".txt",
    description="OpenMetrics of states, unhealthy parts and drift, for the textfile collector of Prometheus",
    syntax=_SYNTAX,
    content=_content,
)
