"""Write OpenMetrics: servers, nodes and links by state, the unhealthy ones by name, and drift findings by rule."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import product
from typing import Final

from sqlalchemy import func, select

from trninv.database.finding_rules import FINDING_RULES
from trninv.database.tables import LINK_SCOPES, NODE_KINDS, STATES, TABLES, is_unhealthy
from trninv.exporters import graph_stream
from trninv.exporters.export_source import ExportSource
from trninv.exporters.format import Format, Record
from trninv.inventory.address.containment import node_condition
from trninv.inventory.address.expressions import node_addresses
from trninv.reconcile.findings import list_findings

_NODE = TABLES["node"]
_SAMPLE: Final = re.compile(r'(\w+)(?:\{((?:\w+="[^"\\]*",?)*)\})? (\d+)')
_LABEL: Final = re.compile(r'\w+="([^"]*)"')
_HELP: Final = {
    "trninv_event": "Number of the last change of a state.",
    "trninv_servers": "Servers by state.",
    "trninv_nodes": "Chips, switches, NICs and network nodes by kind and state, which a server hands down.",
    "trninv_links": "Links by scope and state.",
    "trninv_findings": "Where what machines reported differs from the design, by rule, as trninv drift last found it.",
    "trninv_unhealthy": "A server, or a node by a state of its own, that is not up.",
}
_LABELS: Final = {
    "trninv_event": (),
    "trninv_servers": ("scope", "state"),
    "trninv_nodes": ("scope", "kind", "state"),
    "trninv_links": ("scope", "joins", "state"),
    "trninv_findings": ("scope", "rule", "severity"),
    "trninv_unhealthy": ("address", "kind", "state"),
}


def _write(source: ExportSource) -> Iterator[str]:
    family = ""
    for name, *values, number in _records(source):
        if name != family:
            family = str(name)
            yield f"# TYPE {family} gauge"
            yield f"# HELP {family} {_HELP[family]}"
        labels = ",".join(f'{key}="{value}"' for key, value in zip(_LABELS[family], values, strict=True))
        yield f"{family}{{{labels}}} {number}" if labels else f"{family} {number}"
    yield "# EOF"


def _read(lines: Iterable[str]) -> Iterator[Record]:
    for line in lines:
        if match := _SAMPLE.fullmatch(line):
            yield match[1], *_LABEL.findall(match[2] or ""), int(match[3])


def _records(source: ExportSource) -> Iterator[Record]:
    scope = source.place.address
    yield "trninv_event", source.event
    states = [server.state for server in source.all_servers]
    for state in STATES:
        yield "trninv_servers", scope, state, states.count(state)
    query = select(_NODE.c.kind, _NODE.c.state, func.count()).where(node_condition(source.place))
    counts = {row[:2]: row[2] for row in source.connection.execute(query.group_by(_NODE.c.kind, _NODE.c.state))}
    for pair in product(NODE_KINDS, STATES):
        yield "trninv_nodes", scope, *pair, counts.get(pair, 0)
    counts = graph_stream.count_links(source)
    for pair in product(LINK_SCOPES, STATES):
        yield "trninv_links", scope, *pair, counts.get(pair, 0)
    findings_by_rule = Counter(item.rule for item in list_findings(source.connection, scope))
    yield from (
        ("trninv_findings", scope, name, rule.severity, findings_by_rule[name]) for name, rule in FINDING_RULES.items()
    )
    yield from (("trninv_unhealthy", *item, 1) for item in _unhealthy_parts(source))


def _unhealthy_parts(source: ExportSource) -> Iterator[tuple[str, str, str]]:
    for server in source.all_servers:
        if server.state != "up":
            yield server.address, "server", server.state
    own = func.coalesce(_NODE.c.own_state, _NODE.c.state)
    query = (
        node_addresses()
        .add_columns(_NODE.c.kind, own)
        .where(node_condition(source.place), is_unhealthy(_NODE), own != "up")
    )
    for _, address, kind, state in source.connection.execute(query.order_by(_NODE.c.id)):
        yield address, kind, state


FORMAT = Format(
    name="openmetrics",
    suffix=".txt",
    description="OpenMetrics of states and drift: how many of each, and what is not up; for Prometheus' "
    "textfile collector",
    write=_write,
    read=_read,
    expected_records=_records,
    comment_template="",
)
