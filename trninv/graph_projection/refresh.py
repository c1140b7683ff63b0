"""Turn the difference of two states into Cypher statements that update a projection."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, select

from trninv.database.bulk_read import batches
from trninv.database.tables import TABLES
from trninv.graph_projection.changing_state import (
    INSTANCE_VALUES,
    JOB_VALUES,
    ChangingState,
    Difference,
    factor_of,
)
from trninv.graph_projection.schema import relationship_of
from trninv.graph_projection.structure import GIGA, network_rank
from trninv.inventory.address.expressions import address_expression, join_containers, node_addresses

MAX_CHANGES: Final = 20_000
"""Number of changed rows beyond which building a projection is faster than a refresh."""
_LABELS: Final = {"chip": "Chip", "switch": "Switch", "nic": "Nic", "network_node": "NetworkNode"}
_UP: Final = ("up", None)
Statements = Mapping[str, list[dict[str, Any]]]
"""Texts in the order in which they are run, each with its parameters for every run."""


class _Node(NamedTuple):
    label: str
    address: str
    rank: int


def refresh_statements(connection: Connection, old: ChangingState, new: ChangingState) -> Statements | None:
    """Return the statements that make a projection of `old` one of `new`; None if a build would be faster."""
    difference = old.difference(new)
    if sum(map(len, difference.values())) > MAX_CHANGES:
        return None
    statements: dict[str, list[dict[str, Any]]] = defaultdict(list)
    _update_servers(connection, difference, new, statements)
    _update_nodes(connection, difference["node"], new, statements)
    _update_links(connection, difference["link"], new, statements)
    _replace_jobs(connection, difference, (old, new), statements)
    _replace_instances(connection, difference["instance"], new, statements)
    return statements


def _update_servers(connection: Connection, difference: Difference, new: ChangingState, statements: Any) -> None:
    addresses = _server_addresses(connection, [*difference["server"], *difference["cordon"]])
    for key in difference["server"]:
        _add_address(statements, "Server", _condition(new.sections["server"].get(str(key), _UP)), addresses[key])
    for key in difference["cordon"]:
        is_cordoned = str(key) in new.sections["cordon"]
        _add_address(statements, "Server", f"n.cordoned = {is_cordoned}", addresses[key])


def _update_nodes(connection: Connection, ids: Sequence[int], new: ChangingState, statements: Any) -> None:
    for key, node in _nodes(connection, ids).items():
        _add_address(statements, node.label, _condition(new.sections["node"].get(str(key), _UP)), node.address)


def _add_address(statements: Any, label: str, assignments: str, address: str) -> None:
    """Add a node to the one run of the statement that makes these assignments to nodes of a label."""
    text = f"UNWIND $addresses AS address MATCH (n:{label} {{address: address}}) SET {assignments}"
    rows = statements[text]
    rows or rows.append({"addresses": []})
    rows[0]["addresses"].append(address)


def _condition(values: Sequence[Any], variable: str = "n") -> str:
    factor = factor_of(values[1])
    return f"{variable}.state = '{values[0]}', {variable}.factor = {'NULL' if factor is None else factor}"


def _update_links(connection: Connection, ids: Sequence[int], new: ChangingState, statements: Any) -> None:
    link = TABLES["link"]
    query = select(link.c.id, link.c.a_id, link.c.b_id, link.c.bandwidth_bytes_per_s)
    links = [row for batch in batches(ids) for row in connection.execute(query.where(link.c.id.in_(batch)))]
    nodes = _nodes(connection, sorted({end for _, a, b, _ in links for end in (a, b)}))
    for key, a, b, bandwidth in links:
        start, end = sorted((nodes[a], nodes[b]), key=lambda node: node.rank)
        values = new.sections["link"].get(str(key), (*_UP, bandwidth))
        relationship = relationship_of(start.label, end.label)
        statements[
            f"MATCH (a:{start.label} {{address: $a}})-[l:{relationship}]->(b:{end.label} {{address: $b}}) "
            f"SET {_condition(values, 'l')}, l.bandwidth_gb_per_s = {values[2] / GIGA}"
        ].append({"a": start.address, "b": end.address})


def _replace_jobs(
    connection: Connection, difference: Difference, states: tuple[ChangingState, ChangingState], statements: Any
) -> None:
    """Delete the jobs that differ or whose chips do, and add those that still run with all their chips."""
    allocations = [state.sections["allocation"] for state in states]
    job_ids = {*difference["job"]}
    for key in difference["allocation"]:
        job_ids |= {section[str(key)][0] for section in allocations if str(key) in section}
    if not job_ids:
        return
    statements["UNWIND $ids AS id MATCH (j:Job {id: id}) DETACH DELETE j"].append({"ids": sorted(job_ids)})
    running = states[1].sections["job"]
    for key in sorted(job_ids):
        if values := running.get(str(key)):
            job = dict(zip(JOB_VALUES, values, strict=True))
            _create(statements, "Job", {"id": key} | job | {"pinned": bool(job["pinned"])})
    chips = defaultdict(list)
    for job_id, chip_id, role, started_at in allocations[1].values():
        if job_id in job_ids:
            chips[job_id].append((chip_id, {"role": role, "started_at": started_at}))
    nodes = _nodes(connection, [chip_id for pairs in chips.values() for chip_id, _ in pairs])
    text = (
        "MATCH (j:Job {id: $job}) UNWIND $chips AS row MATCH (c:Chip {address: row.address}) "
        "CREATE (j)-[:ALLOCATED {role: row.role, started_at: row.started_at}]->(c)"
    )
    for job_id, pairs in chips.items():
        rows = [{"address": nodes[chip_id].address} | values for chip_id, values in pairs]
        statements[text].append({"job": job_id, "chips": rows})


def _replace_instances(connection: Connection, ids: Sequence[int], new: ChangingState, statements: Any) -> None:
    if not ids:
        return
    statements["UNWIND $ids AS id MATCH (i:Instance {id: id}) DETACH DELETE i"].append({"ids": ids})
    instances = {key: new.sections["instance"][str(key)] for key in ids if str(key) in new.sections["instance"]}
    addresses = _server_addresses(connection, [server_id for server_id, *_ in instances.values()])
    for key, (server_id, *values) in instances.items():
        _create(statements, "Instance", {"id": key} | dict(zip(INSTANCE_VALUES, values, strict=True)))
        statements["MATCH (i:Instance {id: $id}), (s:Server {address: $server}) CREATE (i)-[:RUNS_ON]->(s)"].append(
            {"id": key, "server": addresses[server_id]}
        )


def _create(statements: Any, label: str, values: Mapping[str, Any]) -> None:
    """Add a node; properties that are null have no parameter, because it would have no type."""
    present = {name: value for name, value in values.items() if value is not None}
    properties = ", ".join(f"{name}: ${name}" for name in present)
    statements[f"CREATE (:{label} {{{properties}}})"].append(present)


def _server_addresses(connection: Connection, ids: Sequence[int]) -> dict[int, str]:
    server = TABLES["server"]
    query = select(server.c.id, address_expression("server")).select_from(join_containers("server"))
    return {
        key: address
        for batch in batches(ids)
        for key, address in connection.execute(query.where(server.c.id.in_(batch)))
    }


def _nodes(connection: Connection, ids: Sequence[int]) -> dict[int, _Node]:
    node, network_node = TABLES["node"], TABLES["network_node"]
    nodes = {}
    for batch in batches(ids):
        query = node_addresses(lambda column, batch=batch: column.in_(batch))  # type: ignore[misc]
        query = query.add_columns(node.c.kind, network_node.c.tier).where(node.c.id.in_(batch))
        for key, address, kind, tier in connection.execute(query):
            rank = int(kind != "chip") if tier is None else network_rank(tier)
            nodes[key] = _Node(_LABELS[kind], address, rank)
    return nodes
