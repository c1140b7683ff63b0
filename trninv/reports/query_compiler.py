"""Compile a user's SQL: allow one read-only query and fill in its parameters.

The text that runs is generated from the checked tree. Independently of that, the database is opened read only
(`trninv.reports.query_runner`); either protection alone would suffice.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from trninv import characters
from trninv.database.tables import PRIVATE_TABLES, TABLES
from trninv.errors import AddressError, SqlError, suggestion
from trninv.inventory.address.syntax import parse
from trninv.reports import name_resolution
from trninv.reports.sql_dialects import translate
from trninv.reports.sql_grammar import check_node, replace_time_functions
from trninv.reports.views import READABLE, VIEWS, definition

MAX_LENGTH = 20_000
"""Maximum characters of a query."""

_PARSER_ERRORS = (SqlglotError, ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError)
"""Exceptions of sqlglot's parser for invalid SQL: its documented ones, and accidental ones on unexpected input."""
_INPUT_DIALECT = "postgres"
"""The dialect of users' queries, on either database."""
_WRITE_NODES = (
    exp.DML,
    exp.DDL,
    exp.Alter,
    exp.Drop,
    exp.Command,
    exp.Into,
    exp.Lock,
    exp.Pragma,
    exp.Set,
    exp.Attach,
    exp.Detach,
    exp.Copy,
)


def compile_query(text: str, dialect: str, values: Mapping[str, str | int | float] | None = None) -> str:
    """Check a query and return it in a dialect (sqlite, postgresql), with the values of its :names filled in.

    Raises
    ------
    SqlError
        The text is not exactly one query, reads anything but the readable tables and views, or uses SQL that
        is not listed in `trninv.reports.sql_grammar`.

    """
    if len(text) > MAX_LENGTH:
        raise SqlError(f"the query has more than {MAX_LENGTH:,} characters; shorten it")
    if characters.has_forbidden_characters([text, *(values or {}).values()]):
        raise SqlError(f"the query, or a value in it, {characters.FORBIDDEN_MESSAGE}")
    name = {"postgresql": "postgres"}.get(dialect, dialect)
    try:
        tree = _parse(text)
        for placeholder in list(tree.find_all(exp.Placeholder)):
            placeholder.replace(_parameter_value(placeholder, values or {}))
        tree = replace_time_functions(tree)
        _check_tree(tree)
        name_resolution.resolve_names(tree, _schema())
        _add_index_conditions(tree)
        return translate(tree, name).sql(dialect=name, comments=False)
    except RecursionError:
        raise SqlError("the query is nested too deeply; nest less") from None


def _parse(text: str) -> exp.Expr:
    try:
        trees = [tree for tree in sqlglot.parse(text, read=_INPUT_DIALECT) if tree is not None]
    except _PARSER_ERRORS as error:
        line = str(error).partition("\n")[0].partition("\x1b")[0]  # up to where sqlglot underlines the query
        raise SqlError(f"not a query: {line}") from None
    if len(trees) != 1:
        raise SqlError(f"there are {len(trees)} queries; write exactly one")
    return trees[0]


@lru_cache(maxsize=1)
def _schema() -> Mapping[str, name_resolution.ColumnLengths]:
    """Return the columns of the readable tables and views, each with the assumed maximum length of its texts."""
    view_columns = {name: _view_columns(name) for name in VIEWS}
    table_columns = {name: tuple(TABLES[name].columns.keys()) for name in READABLE - set(VIEWS)}
    return name_resolution.build_schema({**table_columns, **view_columns})


def _view_columns(view: str) -> tuple[str, ...]:
    text = definition(view, "sqlite").partition(" AS\n")[2]
    first = sqlglot.parse_one(text, read="sqlite").find(exp.Select)
    return tuple(first.named_selects) if first else ()


def _check_tree(tree: exp.Expr) -> None:
    """Refuse everything but one query that reads public tables and views and uses listed SQL."""
    for node in tree.walk():
        if isinstance(node, _WRITE_NODES):
            raise SqlError(f"{node.key.upper()} is refused; write a SELECT")
    if not isinstance(tree, exp.Query):
        raise SqlError("not a query; write a SELECT")
    cte_names = {name_resolution.fold_identifier(cte.args["alias"].this) for cte in tree.find_all(exp.CTE)}
    if conflicts := sorted(name for name in cte_names if name.lower() in READABLE or _is_private(name.lower())):
        # Where the query of WITH is not visible, its name would mean the table, which may be private.
        raise SqlError(f"WITH {conflicts[0]} is refused, because a table has this name; use another name")
    for table in tree.find_all(exp.Table):
        _check_table(table, cte_names)
    for node in tree.walk():
        check_node(node)


def _is_private(name: str) -> bool:
    return name in PRIVATE_TABLES or name == "alembic_version" or name.startswith(("sqlite_", "pg_"))


def _check_table(table: exp.Table, cte_names: set[str]) -> None:
    name = name_resolution.fold_identifier(table.this) if isinstance(table.this, exp.Identifier) else ""
    if not isinstance(table.this, exp.Identifier):
        raise SqlError(f"{table.sql()} is refused; read tables and views")
    if table.args.get("db") or table.args.get("catalog"):
        raise SqlError(f"{table.sql()} is refused; name tables without their schema")
    if name not in READABLE and name not in cte_names:
        if _is_private(name.lower()):
            raise SqlError(f"the table {name} is refused")
        raise SqlError(f"there is no table or view {name[:60]}: {suggestion(name, READABLE)}")


def _parameter_value(placeholder: exp.Placeholder, values: Mapping[str, str | int | float]) -> exp.Expr:
    if placeholder.name not in values:
        raise SqlError(f"no value for :{placeholder.name or '?'}; pass it as a parameter, or write it into the query")
    value = values[placeholder.name]
    return exp.Literal.string(value) if isinstance(value, str) else exp.convert(value)


_ADDRESS_COLUMNS = {"address", "domain", "server", "rack", "chip", "a", "b"}
"""Columns of views that hold addresses, computed from the ordinals."""
_IN_DOMAIN = {"d": "domain_ordinal", "r": "rack_ordinal"}
_ORDINALS: Mapping[str, Mapping[str, str]] = {
    "v_domain": {"d": "ordinal"},
    "v_rack": {"r": "ordinal"},
    "v_server": {**_IN_DOMAIN, "s": "ordinal"},
    "v_chip": {**_IN_DOMAIN, "s": "server_ordinal", "c": "ordinal"},
    "v_core": {**_IN_DOMAIN, "s": "server_ordinal", "c": "chip_ordinal", "nc": "ordinal"},
    "v_nic": {**_IN_DOMAIN, "s": "server_ordinal", "efa": "ordinal"},
    "v_switch": {**_IN_DOMAIN, "sw": "ordinal"},
    "v_tray": {**_IN_DOMAIN, "s": "server_ordinal"},
    "v_link": {"d": "domain_ordinal"},
}
"""The columns with the ordinals of an address, by view and by the letters of the address's steps."""


def _add_index_conditions(tree: exp.Expr) -> None:
    """Add cluster and ordinals to each condition on an address: they are indexed, computed addresses are not."""
    for equal in list(tree.find_all(exp.EQ)):
        column, other = equal.this, equal.expression
        if isinstance(other, exp.Column):
            column, other = other, column
        if not (isinstance(column, exp.Column) and isinstance(other, exp.Literal) and other.is_string):
            continue
        view = _owning_view(column)
        if view is not None and view in _ORDINALS and column.name.lower() in _ADDRESS_COLUMNS:
            parts = _index_conditions(_ORDINALS[view], column, str(other.this))
            equal.replace(exp.paren(exp.and_(equal.copy(), *parts)))


def _owning_view(column: exp.Column) -> str | None:
    """Return the view that a column belongs to, or None if that is not certain."""
    scope = column.find_ancestor(exp.Select)
    tables = [table for table in scope.find_all(exp.Table) if table.find_ancestor(exp.Select) is scope] if scope else []
    matching = [table for table in tables if not column.table or column.table.lower() == table.alias_or_name.lower()]
    return matching[0].name.lower() if len(matching) == 1 and matching[0].name.lower() in VIEWS else None


def _index_conditions(ordinals: Mapping[str, str], column: exp.Column, text: str) -> Iterator[exp.Expr]:
    """Yield conditions on the cluster and the ordinals of an address, or of a link's first end."""
    try:
        address = parse(text.partition("--")[0])
    except AddressError:
        return
    columns = [(ordinals[letters], ordinal) for letters, ordinal in address.steps if letters in ordinals]
    for name, value in [("cluster", address.cluster), *columns]:
        yield exp.EQ(this=exp.column(name, table=column.args.get("table")), expression=exp.convert(value))
