"""Declare the triggers by which a server's parts follow it.

``node.state`` is the worse of a node's own state and its server's. ``own_state`` is kept while the server is not up.
"""

from collections.abc import Iterator
from typing import Final

from sqlalchemy import Connection, select, text

from trninv.database.tables import SEVERITY_ORDER, TABLES
from trninv.inventory.address.expressions import address_expression
from trninv.inventory.triggers.declaration import Function, Trigger
from trninv.units import pluralize

PARTS: Final = ("chip", "nic", "switch")
"""The tables of nodes that belong to a server."""
COLUMNS: Final = ("state", "factor_ppm", "own_state", "own_factor_ppm")
_LEAST: Final = {"sqlite": "min", "postgresql": "least"}
_IS_SAID: Final = "EXISTS (SELECT * FROM _change)"
_CASCADED: Final = {
    "sqlite": """
    INSERT INTO _change (id, at, who, why, source, batch)
    SELECT 2, at, who, why, source, batch FROM state_event
    WHERE id = (SELECT max(id) FROM state_event) AND NOT {is_said};
    UPDATE node SET {assigned} WHERE id IN ({node_ids});
    DELETE FROM _change WHERE id = 2;""",
    "postgresql": """
        IF said.id IS NULL THEN
            INSERT INTO _change (id, at, who, why, source, batch)
            VALUES (2, said.at, session_user, 'plain SQL', 'sql', last + 1);
        END IF;
        EXECUTE $update$UPDATE node SET {assigned}
            FROM became JOIN was ON was.id = became.id, LATERAL ({node_ids}) AS part
            WHERE node.id = part.id AND ({changed})$update$;
        DELETE FROM _change WHERE id = 2;""",
}
"""Statements that update a server's parts after its event, as part of the same change.

On PostgreSQL, EXECUTE plans the update for the actual number of servers each time.
"""
_OWN_LITE: Final = """
    UPDATE node SET {assigned}
    FROM (SELECT {own}, coalesce(max(server.state), 'up') AS server_state, max(server.factor_ppm) AS server_factor
        FROM (SELECT ({server_id}) AS id) AS part LEFT JOIN server ON server.id = part.id) AS is_now
    WHERE node.id = NEW.id AND (OLD.own_state IS NOT NULL OR NEW.own_state IS NOT NULL) AND NOT {is_said};"""
"""On SQLite: a state that plain SQL writes to a node is the node's own state."""
_OWN: Final = """ DECLARE is_now record; BEGIN
    IF {is_said} THEN RETURN new; END IF;
    SELECT {own}, coalesce(max(server.state), 'up') AS server_state, max(server.factor_ppm) AS server_factor INTO is_now
        FROM (SELECT ({server_id}) AS id) AS part LEFT JOIN server ON server.id = part.id;
    {assigned};
    RETURN new;
END """
_DIFFER: Final = """
    SELECT count(*) AS parts, min(server.id) AS first
    FROM server JOIN ({parts}) AS part ON part.server_id = server.id JOIN node ON node.id = part.id
    WHERE server.state = 'up' AND node.own_state IS NOT NULL
        OR server.state <> 'up' AND (node.own_state IS NULL OR {differs})"""


def cascaded(dialect: str, changed: str) -> str:
    """Return the statements that update a server's parts, to run after those that write its event."""
    server = "NEW" if dialect == "sqlite" else "became"
    node_ids = _node_ids(f"{server}.id")
    own = "coalesce(node.own_state, node.state)", _own_factor("node")
    assigned = _assigned(own, (f"{server}.state", f"{server}.factor_ppm"), dialect)
    return _CASCADED[dialect].format(
        is_said=_IS_SAID, node_ids=node_ids, changed=changed, assigned=", ".join(f"{c} = {v}" for c, v in assigned)
    )


def own_state_lite() -> str:
    """Return the statement by which SQLite's node trigger takes a written state as the node's own."""
    return _OWN_LITE.format(
        own=_own_written("NEW", "OLD", "IS NOT"),
        server_id=_server_id("NEW.id"),
        is_said=_IS_SAID,
        assigned=", ".join(f"{column} = {value}" for column, value in _of_now("sqlite")),
    )


def cascade_triggers(dialect: str) -> Iterator[Trigger]:
    """Declare PostgreSQL's trigger for a node's own state; SQLite's is part of the trigger that writes events."""
    if dialect == "sqlite":
        return
    body = _OWN.format(
        own=_own_written("new", "old", "IS DISTINCT FROM"),
        server_id=_server_id("new.id"),
        is_said=_IS_SAID,
        assigned=";\n    ".join(f"new.{column} := {value}" for column, value in _of_now("postgresql")),
    )
    differ = " OR ".join(f"new.{column}::text IS DISTINCT FROM old.{column}::text" for column in COLUMNS[::2])
    differ += " OR " + " OR ".join(f"new.{column} IS DISTINCT FROM old.{column}" for column in COLUMNS[1::2])
    when = f"(old.own_state IS NOT NULL OR new.own_state IS NOT NULL) AND ({differ})"
    verb, function = f"BEFORE UPDATE OF {', '.join(COLUMNS)}", Function("keep_own_state", body, sees_change=True)
    yield Trigger.row_level("node_own_state", "node", verb, function, when=when)


def check(connection: Connection) -> str | None:
    """Return one line about the parts that do not follow their servers, or None."""
    dialect = connection.dialect.name
    own = ("node.own_state", "node.own_factor_ppm")
    expected = _assigned(own, ("server.state", "server.factor_ppm"), dialect)[:2]
    is_other = "IS NOT" if dialect == "sqlite" else "IS DISTINCT FROM"
    parts = " UNION ALL ".join(f"SELECT id, server_id FROM {table}" for table in PARTS)  # noqa: S608 # only our own names
    differs = " OR ".join(f"node.{column} {is_other} {value}" for column, value in expected)
    row = connection.execute(text(_DIFFER.format(parts=parts, differs=differs))).one()
    if not row.parts:
        return None
    server, domain, cluster = (TABLES[name] for name in ("server", "domain", "cluster"))
    joined = server.join(domain, domain.c.id == server.c.domain_id).join(cluster, cluster.c.id == domain.c.cluster_id)
    address = connection.scalar(
        select(address_expression("server")).select_from(joined).where(server.c.id == row.first)
    )
    parts = f"{pluralize(row.parts, 'part')} not as their servers leave them, the first in {address}"
    return f"{parts}: set that server to another state with trninv set, then back"


def _node_ids(server: str) -> str:
    """Return a query of the nodes of a server."""
    return " UNION ALL ".join(f"SELECT id FROM {table} WHERE server_id = {server}" for table in PARTS)  # noqa: S608 # only our own names


def _server_id(node: str) -> str:
    """Return a query of the server of a node."""
    return " UNION ALL ".join(f"SELECT server_id FROM {table} WHERE id = {node}" for table in PARTS)  # noqa: S608 # only our own names


def _own_factor(row: str) -> str:
    return f"CASE WHEN {row}.own_state IS NULL THEN {row}.factor_ppm ELSE {row}.own_factor_ppm END"


def _own_written(new: str, old: str, differs: str) -> str:
    """Return the own state and factor that an update means: the own columns if it changes them, else the others."""
    is_own = f"{new}.own_state IS NOT NULL AND ({new}.own_state {differs} {old}.own_state"
    is_own += f" OR {new}.own_factor_ppm {differs} {old}.own_factor_ppm)"
    state = f"CASE WHEN {is_own} THEN {new}.own_state ELSE {new}.state END"
    factor = f"CASE WHEN {is_own} THEN {new}.own_factor_ppm ELSE {new}.factor_ppm END"
    return f"{state} AS own_state, {factor} AS own_factor"


def _of_now(dialect: str) -> list[tuple[str, str]]:
    own, server = ((f"is_now.{name}_state", f"is_now.{name}_factor") for name in ("own", "server"))
    return _assigned(own, server, dialect)


def _assigned(own: tuple[str, str], server: tuple[str, str], dialect: str) -> list[tuple[str, str]]:
    """Return the columns of a node with their values, from its own condition and its server's."""
    (state, factor), (server_state, server_factor) = ((name, _factor(name, value)) for name, value in (own, server))
    worst = f"CASE WHEN {_rank(state)} > {_rank(server_state)} THEN {state} ELSE {server_state} END"
    least = f"{_LEAST[dialect]}(coalesce({factor}, 1000000), coalesce({server_factor}, 1000000))"
    values = (
        worst,
        f"CASE {worst} WHEN 'degraded' THEN nullif({least}, 1000000) END",
        f"CASE WHEN {server_state} <> 'up' THEN {state} END",
        f"CASE WHEN {server_state} <> 'up' THEN {factor} END",
    )
    return list(zip(COLUMNS, values, strict=True))


def _factor(state: str, value: str) -> str:
    """Return a state's factor; plain SQL may leave one behind on a part that is no longer degraded."""
    return f"CASE {state} WHEN 'degraded' THEN {value} END"


def _rank(state: str) -> str:
    *better, _ = SEVERITY_ORDER
    ranks = " ".join(f"WHEN '{name}' THEN {rank}" for rank, name in enumerate(better))
    return f"CASE {state} {ranks} ELSE {len(better)} END"
