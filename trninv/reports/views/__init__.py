"""Create and drop the views that SQL reports read; NAME.sql is the view NAME, a SELECT valid on both databases.

A file begins with comments that describe the view (`view_descriptions`), which end at the first blank line. Views of a
single thing have no file: their columns are the fields that it declares (`declared_views`).

Rules shared with other code are referred to by name: ``{{ chip_address }}`` is the address of the joined row of
``chip``, and so on for every level that has addresses; ``{{ node_address }}`` is that of any ``node``,
``{{ a_address }}`` and ``{{ b_address }}`` are those of a link's ends; ``{{ chip_is_allocated }}`` and
``{{ chip_takes_jobs }}`` are conditions on a chip; ``{{ carried }}`` is the bandwidth that a ``link`` carries now
between the nodes ``end_a`` and ``end_b``; ``{{ maybe_unhealthy_server }}``, and so on for ``node`` and ``link``, are
conditions that every unhealthy row meets: they make queries of an earlier time fast, for which no index has the states.

Views have no versions. Migrations drop all views first and, if they end at the newest schema version, create them again
from the files (``migrations/env.py``), because a migration may change any table, and a file may change without a
migration. A view is created after the views that its file names.
"""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from graphlib import TopologicalSorter
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from sqlalchemy import ClauseElement, ColumnElement, Connection, Engine, literal_column, make_url, text

from trninv.database import as_of
from trninv.database.tables import METADATA, PRIVATE_TABLES, TABLES
from trninv.inventory.address.expressions import address_expression, node_address_expression
from trninv.inventory.address.syntax import LEVELS
from trninv.inventory.state.chip_use import is_allocated, takes_jobs
from trninv.inventory.state.condition import carried_bandwidth_expression
from trninv.reports.views.declared_views import DECLARED_VIEWS, select_view

_FOLDER: Final = Path(__file__).parent
_RULE_REFERENCE: Final = re.compile(r"\{\{ (\w+) \}\}")
_VIEW_NAME: Final = re.compile(r"\bv_\w+")

ROLE: Final = "trninv_read"
"""PostgreSQL's role that may read the tables and views."""
VIEWS: Final = tuple(sorted([*DECLARED_VIEWS, *(file.stem for file in _FOLDER.glob("v_*.sql"))]))
"""The names of the views."""
READABLE: Final = frozenset({*METADATA.tables, *VIEWS} - PRIVATE_TABLES)
"""Tables and views that a user's query may read."""

_DROP_ON_POSTGRESQL: Final = f"""
DO $$ DECLARE view_list text; BEGIN
    SELECT string_agg(format('%I.%I', schemaname, viewname), ', ') INTO view_list FROM pg_views
        WHERE schemaname = {as_of.PAST_SCHEMA} OR schemaname = current_schema() AND left(viewname, 2) = 'v_';
    IF view_list IS NOT NULL THEN
        EXECUTE 'DROP VIEW ' || view_list;
    END IF;
    IF EXISTS (SELECT FROM pg_namespace WHERE nspname = {as_of.PAST_SCHEMA} AND pg_has_role(nspowner, 'USAGE'))
            AND has_database_privilege(current_database(), 'CREATE') THEN
        EXECUTE format('DROP SCHEMA %I', {as_of.PAST_SCHEMA});
    END IF;
EXCEPTION WHEN dependent_objects_still_exist THEN
    RAISE EXCEPTION 'other objects depend on views of trninv: %', SQLERRM;
END $$"""  # noqa: S608 # constant names
_SET_SEARCH_PATH: Final = "DO $$ BEGIN PERFORM set_config('{}', {}, true); END $$"
_EXISTING_VIEWS_SQL: Final = {
    "sqlite": "SELECT name, sql AS content FROM sqlite_master WHERE type = 'view' AND substr(name, 1, 2) = 'v_'",
    "postgresql": """
        SELECT relname AS name, coalesce(obj_description(oid, 'pg_class'), '') AS content FROM pg_class
        WHERE relkind = 'v' AND left(relname, 2) = 'v_'
            AND relnamespace = to_regnamespace(quote_ident(current_schema()))""",
}
"""Queries for the existing views, with what shows whether they are outdated: their SQL, or on PostgreSQL a comment that
has its digest."""


def drop_statements(dialect: str, connection: Connection | None = None) -> Iterator[str]:
    """Yield statements that drop every view whose name begins with v_.

    On SQLite without a connection, only the views of this version of trninv are dropped.
    """
    if dialect == "postgresql":
        yield _DROP_ON_POSTGRESQL
        return
    for name in sorted({*VIEWS, *(_existing_views(connection) if connection else ())}):
        yield f'DROP VIEW IF EXISTS "{name}"'


def create_statements(dialect: str) -> Iterator[str]:
    """Yield statements that create the views, on PostgreSQL also those of an earlier time."""
    names = _creation_order()
    for name in names:
        yield definition(name, dialect)
        if dialect == "postgresql":
            yield f"COMMENT ON VIEW {name} IS '{_view_comment(name)}'"
    if dialect == "postgresql":
        yield from as_of.create_schema_statements()
        # create the views again in that schema, where the names of tables mean the tables as of an earlier time
        yield _SET_SEARCH_PATH.format("trninv.search_path", "current_setting('search_path')")
        yield _SET_SEARCH_PATH.format("search_path", as_of.PAST_SEARCH_PATH)
        yield from (definition(name, dialect, is_past=True) for name in names)
        yield _SET_SEARCH_PATH.format("search_path", "current_setting('trninv.search_path')")


def as_of_statements(engine: Engine) -> list[str]:
    """Return statements that make a transaction read an earlier time; none if the engine reads the present."""
    dialect = engine.dialect.name
    if as_of.as_of_event(engine) is None:
        return []
    views = _creation_order() if dialect == "sqlite" else ()
    statements = (
        definition(name, dialect, is_past=True).replace("CREATE VIEW", "CREATE TEMP VIEW", 1) for name in views
    )
    return [*as_of.view_statements(engine), *statements]


def _creation_order() -> tuple[str, ...]:
    """Return the names of the views, each after those that its file names."""
    references = {name: set(_VIEW_NAME.findall(definition(name, "sqlite"))) for name in VIEWS}
    return tuple(TopologicalSorter({name: references[name] & {*VIEWS} - {name} for name in VIEWS}).static_order())


def definition(name: str, dialect: str, *, is_past: bool = False) -> str:
    """Return the statement that creates a view of the present or, with ``is_past``, of an earlier time."""
    if name in DECLARED_VIEWS:
        return f"CREATE VIEW {name} AS\n{_compile(select_view(name), dialect)}"
    rules = _compile_rules(dialect, is_past=is_past)
    select = (_FOLDER / f"{name}.sql").read_text("utf-8").strip()
    if select.startswith("--"):  # its description
        _, _, select = select.partition("\n\n")
    return f"CREATE VIEW {name} AS\n" + _RULE_REFERENCE.sub(lambda reference: rules[reference[1]], select)


def outdated_views(connection: Connection) -> list[str]:
    """Return the names of views that are missing, superfluous or different from this version's definitions."""
    dialect = connection.dialect.name
    expected = {name: definition(name, dialect) if dialect == "sqlite" else _view_comment(name) for name in VIEWS}
    existing = _existing_views(connection)
    return sorted(name for name in {*expected, *existing} if expected.get(name) != existing.get(name))


def check_views(connection: Connection) -> str | None:
    """Return the problem with a database's views in one line, or None."""
    names = outdated_views(connection)
    return f"views that differ from this version of trninv: {', '.join(names)}: run trninv migrate" if names else None


def _existing_views(connection: Connection) -> dict[str, str]:
    return {row.name: row.content for row in connection.execute(text(_EXISTING_VIEWS_SQL[connection.dialect.name]))}


def _view_comment(name: str) -> str:
    return f"view of trninv, SHA-256 {sha256(definition(name, 'postgresql').encode()).hexdigest()}"


@lru_cache(maxsize=4)
def _compile_rules(dialect: str, *, is_past: bool) -> Mapping[str, str]:
    """Return the SQL of the shared rules by name."""
    node, link = TABLES["node"], TABLES["link"]
    rules: dict[str, ColumnElement[Any]] = {
        **{f"{level}_address": address_expression(level) for level in LEVELS.values()},
        **{f"{end}_address": node_address_expression(literal_column(f"link.{end}_id")) for end in ("a", "b")},
        "node_address": node_address_expression(literal_column("node.id")),
        "chip_is_allocated": is_allocated(literal_column("chip.id")),
        "chip_takes_jobs": takes_jobs(literal_column("node.state"), literal_column("chip.server_id")),
        "carried": carried_bandwidth_expression(link, node.alias("end_a"), node.alias("end_b")),
    }
    compiled = {name: _compile(rule, dialect) for name, rule in rules.items()}
    for name in as_of.PARTS:
        view = f"maybe_unhealthy_{name}"
        compiled[view] = f"{name}.id IN (SELECT id FROM {view})" if is_past else "1 = 1"  # noqa: S608 # constants
    return compiled


def _compile(sql: ClauseElement, dialect: str) -> str:
    """Return the text of an expression, in the named paramstyle, which does not double %."""
    dialect_class: Any = make_url(f"{dialect}://").get_dialect()
    return str(sql.compile(dialect=dialect_class(paramstyle="named")))
