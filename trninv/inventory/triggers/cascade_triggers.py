"""Declare the triggers by which a server's chips, NICs and switches follow the server's state.

``node.state`` is the effective state: the worse of the node's own state and its server's. ``own_state`` keeps the
node's own state while the server is not up. A factor is the fraction that a degraded part still carries, in millionths.

Most statements here run inside the triggers of `trninv.inventory.triggers.event_triggers`. In their SQL text, ``was``
and ``became`` are the changed rows before and after, ``said`` is the row of ``_change`` that names the author of the
change, and ``last`` is the number of the last event before it.
"""

from collections.abc import Iterator
from typing import Final

from sqlalchemy import Connection, literal, select, text

from trninv.database.tables import SEVERITY_ORDER
from trninv.inventory.address.expressions import address_by_id
from trninv.inventory.triggers.declaration import Function, Trigger
from trninv.units import pluralize

PARTS: Final = ("chip", "nic", "switch")
"""The tables of nodes that belong to a server."""
COLUMNS: Final = ("state", "factor_ppm", "own_state", "own_factor_ppm")
"""The columns of ``node`` with its effective state and factor, then its own."""
_MINIMUM: Final = {"sqlite": "min", "postgresql": "least"}
"""The SQL function for the minimum of two numbers, by dialect."""
_HAS_CHANGE_ROW: Final = "EXISTS (SELECT * FROM _change)"
"""True while trninv itself makes a change; false for plain SQL."""
_UPDATE_PARTS: Final = {
    "sqlite": """
    INSERT INTO _change (id, at, who, why, source, batch)
    SELECT 2, at, who, why, source, batch FROM state_event
    WHERE id = (SELECT max(id) FROM state_event) AND NOT {has_change_row};
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

If plain SQL changed the server, a row of ``_change`` with id 2 makes the events of the parts belong to that change.
On PostgreSQL, EXECUTE plans the update for the actual number of servers each time.
"""
_KEEP_OWN_STATE_SQLITE: Final = """
    UPDATE node SET {assigned}
    FROM (SELECT {own}, coalesce(max(server.state), 'up') AS server_state, max(server.factor_ppm) AS server_factor
        FROM (SELECT ({server_id}) AS id) AS part LEFT JOIN server ON server.id = part.id) AS is_now
    WHERE node.id = NEW.id AND (OLD.own_state IS NOT NULL OR NEW.own_state IS NOT NULL) AND NOT {has_change_row};"""
"""On SQLite: treats a state that plain SQL writes to a node as the node's own state, and recomputes the effective one.

It applies only if the row has an own state before or after the update, as while its server is not up.
"""
_KEEP_OWN_STATE_POSTGRESQL: Final = """ DECLARE is_now record; BEGIN
    IF {has_change_row} THEN RETURN new; END IF;
    SELECT {own}, coalesce(max(server.state), 'up') AS server_state, max(server.factor_ppm) AS server_factor INTO is_now
        FROM (SELECT ({server_id}) AS id) AS part LEFT JOIN server ON server.id = part.id;
    {assigned};
    RETURN new;
END """
"""The same on PostgreSQL."""
_COUNT_INCONSISTENT: Final = """
    SELECT count(*) AS parts, min(server.id) AS first
    FROM server JOIN ({parts}) AS part ON part.server_id = server.id JOIN node ON node.id = part.id
    WHERE server.state = 'up' AND node.own_state IS NOT NULL
        OR server.state <> 'up' AND (node.own_state IS NULL OR {differs})"""
"""Counts the nodes whose effective state is not the worse of their own and their server's."""


def cascade_statements(dialect: str, changed: str) -> str:
    """Return the statements that update a server's parts, to run after those that write its event.

    Parameters
    ----------
    changed
        A condition, in SQL, for the servers that changed.
    """
    server = "NEW" if dialect == "sqlite" else "became"
    node_ids = _part_ids(f"{server}.id")
    own = "coalesce(node.own_state, node.state)", _own_factor_expression("node")
    assigned = _column_values(own, (f"{server}.state", f"{server}.factor_ppm"), dialect)
    return _UPDATE_PARTS[dialect].format(
        has_change_row=_HAS_CHANGE_ROW,
        node_ids=node_ids,
        changed=changed,
        assigned=", ".join(f"{column} = {value}" for column, value in assigned),
    )


def own_state_statement() -> str:
    """Return the statement by which SQLite's node trigger stores a written state as the node's own."""
    return _KEEP_OWN_STATE_SQLITE.format(
        own=_written_own_state("NEW", "OLD", "IS NOT"),
        server_id=_server_id("NEW.id"),
        has_change_row=_HAS_CHANGE_ROW,
        assigned=", ".join(f"{column} = {value}" for column, value in _column_values_now("sqlite")),
    )


def cascade_triggers(dialect: str) -> Iterator[Trigger]:
    """Yield PostgreSQL's trigger for a node's own state; SQLite's is part of the trigger that writes events."""
    if dialect == "sqlite":
        return
    body = _KEEP_OWN_STATE_POSTGRESQL.format(
        own=_written_own_state("new", "old", "IS DISTINCT FROM"),
        server_id=_server_id("new.id"),
        has_change_row=_HAS_CHANGE_ROW,
        assigned=";\n    ".join(f"new.{column} := {value}" for column, value in _column_values_now("postgresql")),
    )
    states, factors = COLUMNS[::2], COLUMNS[1::2]
    # with the casts that pg_get_triggerdef prints
    differs = " OR ".join(f"new.{column}::text IS DISTINCT FROM old.{column}::text" for column in states)
    differs += " OR " + " OR ".join(f"new.{column} IS DISTINCT FROM old.{column}" for column in factors)
    when = f"(old.own_state IS NOT NULL OR new.own_state IS NOT NULL) AND ({differs})"
    verb, function = f"BEFORE UPDATE OF {', '.join(COLUMNS)}", Function("keep_own_state", body, sees_change=True)
    yield Trigger.row_level("node_own_state", "node", verb, function, when=when)


def check(connection: Connection) -> str | None:
    """Return one line about the parts whose state contradicts their server's, or None if there are none."""
    dialect = connection.dialect.name
    own = ("node.own_state", "node.own_factor_ppm")
    expected = _column_values(own, ("server.state", "server.factor_ppm"), dialect)[:2]
    is_distinct = "IS NOT" if dialect == "sqlite" else "IS DISTINCT FROM"
    parts = " UNION ALL ".join(f"SELECT id, server_id FROM {table}" for table in PARTS)  # noqa: S608 # only our own names
    differs = " OR ".join(f"node.{column} {is_distinct} {value}" for column, value in expected)
    row = connection.execute(text(_COUNT_INCONSISTENT.format(parts=parts, differs=differs))).one()
    if not row.parts:
        return None
    address = connection.scalar(select(address_by_id("server", literal(row.first))))
    problem = f"{pluralize(row.parts, 'part')} whose state does not match the server's, the first in {address}"
    return f"{problem}: set that server to another state with trninv set, then back"


def _part_ids(server: str) -> str:
    """Return a query of the nodes of a server."""
    return " UNION ALL ".join(f"SELECT id FROM {table} WHERE server_id = {server}" for table in PARTS)  # noqa: S608 # only our own names


def _server_id(node: str) -> str:
    """Return a query of the server of a node."""
    return " UNION ALL ".join(f"SELECT server_id FROM {table} WHERE id = {node}" for table in PARTS)  # noqa: S608 # only our own names


def _own_factor_expression(row: str) -> str:
    return f"CASE WHEN {row}.own_state IS NULL THEN {row}.factor_ppm ELSE {row}.own_factor_ppm END"


def _written_own_state(new: str, old: str, differs: str) -> str:
    """Return the own state and factor that an update sets: the own columns if it changes them, else the others.

    The others, ``state`` and ``factor_ppm``, are what a user of plain SQL normally writes.
    """
    is_own = f"{new}.own_state IS NOT NULL AND ({new}.own_state {differs} {old}.own_state"
    is_own += f" OR {new}.own_factor_ppm {differs} {old}.own_factor_ppm)"
    state = f"CASE WHEN {is_own} THEN {new}.own_state ELSE {new}.state END"
    factor = f"CASE WHEN {is_own} THEN {new}.own_factor_ppm ELSE {new}.factor_ppm END"
    return f"{state} AS own_state, {factor} AS own_factor"


def _column_values_now(dialect: str) -> list[tuple[str, str]]:
    own, server = ((f"is_now.{name}_state", f"is_now.{name}_factor") for name in ("own", "server"))
    return _column_values(own, server, dialect)


def _column_values(own: tuple[str, str], server: tuple[str, str], dialect: str) -> list[tuple[str, str]]:
    """Return each of COLUMNS with its value in SQL, given the (state, factor) of the node itself and of its server."""
    (state, factor), (server_state, server_factor) = (
        (name, _factor_if_degraded(name, value)) for name, value in (own, server)
    )
    worse = f"CASE WHEN {_rank(state)} > {_rank(server_state)} THEN {state} ELSE {server_state} END"
    lower = f"{_MINIMUM[dialect]}(coalesce({factor}, 1000000), coalesce({server_factor}, 1000000))"
    values = (
        worse,
        f"CASE {worse} WHEN 'degraded' THEN nullif({lower}, 1000000) END",
        f"CASE WHEN {server_state} <> 'up' THEN {state} END",
        f"CASE WHEN {server_state} <> 'up' THEN {factor} END",
    )
    return list(zip(COLUMNS, values, strict=True))


def _factor_if_degraded(state: str, value: str) -> str:
    """Return SQL for the factor, or null unless the state is degraded: plain SQL may leave a factor behind."""
    return f"CASE {state} WHEN 'degraded' THEN {value} END"


def _rank(state: str) -> str:
    """Return the rank of a state, 0 for the best."""
    *others, _worst = SEVERITY_ORDER
    ranks = " ".join(f"WHEN '{name}' THEN {rank}" for rank, name in enumerate(others))
    return f"CASE {state} {ranks} ELSE {len(others)} END"
