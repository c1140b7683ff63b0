"""Resolve every column name in a user's query and bound the length of the texts that it makes.

`query_compiler` calls `resolve_names`. PostgreSQL reads ``x.f`` as a function call ``f(x)`` if x has no column f, so a
name that is not certainly a column must not reach it. A text without a bound could exhaust the database's memory.
All lengths are in characters.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from sqlglot import exp

from trninv.database.query_result import MAX_TEXT_LENGTH
from trninv.errors import SqlError, suggestion

_MAX_PATTERN_LENGTH: Final = 2_200
"""Maximum length of the pattern of a LIKE."""
_MAX_COLUMN_LENGTH: Final = 1_000
"""Assumed maximum length of a text in the tables."""
_MAX_NUMBER_LENGTH: Final = 25
"""Assumed maximum length of a number as text."""
_MAX_ROW_LENGTH: Final = 2_000_000
"""Maximum sum of the lengths of a result's columns."""
_RECURSIVE_TEXT_LENGTH: Final = 60_000
"""Assumed length of texts of recursive queries and string_agg; over half the maximum, so doubling one is refused."""

ColumnLengths = Mapping[str, int]
"""Maximum length of each column's texts, by the column's name."""


@dataclass(frozen=True, slots=True)
class _NameScope:
    """The names that are visible in a query.

    Attributes
    ----------
    schema
        Columns of the tables and views.
    queries
        Columns of the queries in WITH.
    source_levels
        Columns of the tables and queries in FROM, by alias: one mapping per enclosing query, the outermost first, and
        that of the query itself last.

    """

    schema: Mapping[str, ColumnLengths]
    queries: Mapping[str, ColumnLengths]
    source_levels: tuple[Mapping[str, ColumnLengths], ...] = ()


def build_schema(columns: Mapping[str, tuple[str, ...]]) -> Mapping[str, ColumnLengths]:
    """Return the assumed lengths of all columns, by table or view."""
    return {table: dict.fromkeys(names, _MAX_COLUMN_LENGTH) for table, names in columns.items()}


def resolve_names(query: exp.Expr, tables: Mapping[str, ColumnLengths]) -> None:
    """Refuse a query with a name that is not a column, or with a text or row that may get too long.

    Raises
    ------
    SqlError
        The query has such a name, text or row.

    """
    lengths = _output_lengths(query, _NameScope(tables, {}))
    if sum(lengths.values()) > _MAX_ROW_LENGTH:
        raise SqlError(f"a row of this query may have more than {_MAX_ROW_LENGTH:,} characters; select less")


def fold_identifier(identifier: exp.Expr) -> str:
    """Return a name as PostgreSQL reads it: in lower case unless it is quoted."""
    text = str(identifier.this)
    return text if identifier.args.get("quoted") else "".join(c.lower() if c.isascii() else c for c in text)


def _alias_name(node: exp.Expr) -> str:
    alias = node.args.get("alias")
    name = alias.this if isinstance(alias, exp.TableAlias) else alias
    return fold_identifier(name) if isinstance(name, exp.Identifier) else ""


def _output_lengths(query: exp.Expr, scope: _NameScope) -> ColumnLengths:
    """Return the columns of a query that an outer query can name, with their lengths."""
    if isinstance(query, exp.Values):
        longest = max(_max_lengths(query.expressions, scope, {}))
        return {f"column{index + 1}": longest for index in range(len(query.expressions[0].expressions))}
    with_ = query.args.get("with_")
    for cte in with_.expressions if with_ else ():
        scope = replace(scope, queries={**scope.queries, **_cte_lengths(cte, scope)})
    if isinstance(query, exp.Subquery):
        columns = _output_lengths(query.this, scope)
        _max_lengths(_arguments(query, "order", "limit", "offset"), scope, columns)
        return columns
    if isinstance(query, exp.SetOperation):
        left_columns, right_columns = _output_lengths(query.this, scope), _output_lengths(query.expression, scope)
        max_length = max(right_columns.values(), default=0)
        _max_lengths(_arguments(query, "order", "limit", "offset"), scope, left_columns)
        return {name: max(size, max_length) for name, size in left_columns.items()}
    if not isinstance(query, exp.Select):
        raise SqlError(f"{query.sql(dialect='postgres')[:60]} is refused; begin the query with SELECT")
    return _select_lengths(query, scope)


def _cte_lengths(cte: exp.Expr, scope: _NameScope) -> Mapping[str, ColumnLengths]:
    """Return the columns of one query of WITH, under its name."""
    name, query, with_ = _alias_name(cte), cte.this, cte.parent
    column_names = [fold_identifier(column) for column in cte.args["alias"].args.get("columns") or ()]

    def with_declared_names(columns: ColumnLengths) -> ColumnLengths:
        return dict.fromkeys(column_names, max(columns.values(), default=0)) if column_names else columns

    if with_ is not None and with_.args.get("recursive") and isinstance(query, exp.SetOperation):
        start = with_declared_names(_output_lengths(query.this, scope))
        recursive_columns = {column: max(size, _RECURSIVE_TEXT_LENGTH) for column, size in start.items()}
        scope = replace(scope, queries={**scope.queries, name: recursive_columns})
    return {name: with_declared_names(_output_lengths(query, scope))}


def _select_lengths(query: exp.Select, scope: _NameScope) -> ColumnLengths:
    """Return the columns of a SELECT, resolving all names in its clauses."""
    sources = dict[str, ColumnLengths]()
    outer_scope, outer_levels = scope, scope.source_levels
    for node in (*_arguments(query, "from_"), *query.args.get("joins", ())):
        name, columns = _source_lengths(node.this, outer_scope)
        if name in sources:
            raise SqlError(f"{name[:60]} names two tables; give one of them another alias")
        sources[name] = columns
        scope = replace(scope, source_levels=(*outer_levels, sources))
        for column in node.args.get("using") or ():
            _find_column_length(
                None, fold_identifier(column if isinstance(column, exp.Identifier) else column.this), scope, {}
            )
        _max_lengths(_arguments(node, "on"), scope, {})
    scope = replace(scope, source_levels=(*outer_levels, sources))
    sizes = _max_lengths(query.expressions, scope, {})
    outputs = dict[str, int]()
    for part, size in zip(query.expressions, sizes, strict=True):
        outputs.update(_expression_lengths(part, size, sources))
    _max_lengths([*_arguments(query, "where", "having", "limit", "offset"), *query.args.get("windows", ())], scope, {})
    _max_lengths(_arguments(query, "group", "order", "distinct"), scope, outputs)
    return outputs


def _arguments(node: exp.Expr, *names: str) -> list[exp.Expr]:
    return [part for name in names if isinstance(part := node.args.get(name), exp.Expr)]


def _source_lengths(node: exp.Expr, scope: _NameScope) -> tuple[str, ColumnLengths]:
    """Return the alias and the columns of a table or query in FROM."""
    if isinstance(node, exp.Table):
        name = fold_identifier(node.this)
        tables = {**scope.schema, **scope.queries}
        if name not in tables:
            raise SqlError(f"there is no table or view {name[:60]}: {suggestion(name, tables)}")
        return _alias_name(node) or name, tables[name]
    if isinstance(node, (exp.Subquery, exp.Values)):
        return _alias_name(node), _output_lengths(node, scope)
    raise SqlError(f"{node.sql(dialect='postgres')[:60]} is refused; read tables, views or queries")


def _expression_lengths(part: exp.Expr, size: int, sources: Mapping[str, ColumnLengths]) -> ColumnLengths:
    """Return the column names of an expression in a SELECT, with lengths; "" if databases name it differently."""
    if part.is_star:
        table_name = fold_identifier(part.args["table"]) if isinstance(part, exp.Column) else None
        return {
            name: length
            for source, columns in sources.items()
            if table_name in (None, source)
            for name, length in columns.items()
        }
    if isinstance(part, exp.Alias):
        return {_alias_name(part): size}
    return {fold_identifier(part.this): size} if isinstance(part, exp.Column) else {"": size}


def _max_lengths(parts: list[exp.Expr], scope: _NameScope, aliases: ColumnLengths) -> list[int]:
    """Return the maximum length of each expression, resolving all names in them.

    `aliases` are the query's own output columns, where a clause such as ORDER BY may name them too.
    """
    sizes = dict[int, int]()
    for node in reversed(list(_nodes(parts))):
        sizes[id(node)] = _max_length(node, sizes, scope, aliases)
        if sizes[id(node)] > MAX_TEXT_LENGTH:
            raise SqlError(
                f"{node.sql(dialect='postgres')[:60]} may produce a text longer than {MAX_TEXT_LENGTH:,} "
                "characters; shorten it"
            )
    return [sizes[id(part)] for part in parts]


def _nodes(parts: list[exp.Expr]) -> Iterator[exp.Expr]:
    """Yield the nodes of expressions, parents first, without descending into queries and columns."""
    stack = list(parts)
    while stack:
        node = stack.pop()
        yield node
        if not isinstance(node, (exp.Query, exp.Column)):
            stack.extend(node.iter_expressions())


def _max_length(node: exp.Expr, sizes: Mapping[int, int], scope: _NameScope, aliases: ColumnLengths) -> int:
    if isinstance(node, exp.Query):
        return max(_output_lengths(node, scope).values(), default=0)
    if isinstance(node, exp.Column):
        return _column_length(node, scope, aliases)
    if isinstance(node, exp.Literal):
        return len(str(node.this))
    by_argument = {name: sizes.get(id(part), 0) for name, part in node.args.items() if isinstance(part, exp.Expr)}
    return _result_max_length(node, by_argument, [sizes.get(id(part), 0) for part in node.iter_expressions()])


def _result_max_length(node: exp.Expr, lengths_by_argument: Mapping[str, int], lengths: list[int]) -> int:
    """Return the maximum length of a node's result, from the maximum lengths of its arguments."""
    if isinstance(node, (exp.Like, exp.ILike)) and lengths_by_argument["expression"] > _MAX_PATTERN_LENGTH:
        raise SqlError(
            f"the pattern of a LIKE may have more than {_MAX_PATTERN_LENGTH:,} characters; use a shorter one"
        )
    if isinstance(node, (exp.DPipe, exp.Concat)):
        return sum(lengths)
    if isinstance(node, exp.Replace):
        return lengths_by_argument["this"] * max(lengths_by_argument.get("replacement", 0), 1)
    return _RECURSIVE_TEXT_LENGTH if isinstance(node, exp.GroupConcat) else max(lengths, default=_MAX_NUMBER_LENGTH)


def _column_length(node: exp.Column, scope: _NameScope, aliases: ColumnLengths) -> int:
    if node.args.get("db") or node.args.get("catalog"):
        raise SqlError(f"{node.sql(dialect='postgres')[:60]} is refused; name a column TABLE.COLUMN")
    table = node.args.get("table")
    table_name = None if table is None else fold_identifier(table)
    if isinstance(node.this, exp.Star):
        if table_name not in scope.source_levels[-1]:
            raise SqlError(
                f"there is no table {str(table_name)[:60]} in this query: "
                f"{suggestion(str(table_name), scope.source_levels[-1])}"
            )
        return 0
    return _find_column_length(table_name, fold_identifier(node.this), scope, aliases)


def _find_column_length(table_name: str | None, name: str, scope: _NameScope, aliases: ColumnLengths) -> int:
    if table_name is None and name and name in aliases:
        return aliases[name]
    for sources in reversed(scope.source_levels):
        for source, columns in sources.items():
            if name and name in columns and table_name in (None, source):
                return columns[name]
        if table_name in sources:
            break
    known_names = {name for sources in scope.source_levels for columns in sources.values() for name in columns if name}
    full_name = name if table_name is None else f"{table_name}.{name}"
    raise SqlError(
        f"there is no column {full_name[:60]} in this query: {suggestion(name, {*known_names, *aliases} - {''})}"
    )
