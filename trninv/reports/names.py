"""Which column each name of a query means, and how long its texts may get: what is not known is refused.

PostgreSQL takes ``x.f`` for ``f(x)`` where x has no column f. So no name may reach it that is not certainly a column.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from sqlglot import exp

from trninv.errors import SqlError, nearest

LONGEST: Final = 100_000
"""Characters of a text that a query makes."""
_PATTERN: Final = 2_200
_COLUMN: Final = 1_000
"""Characters of a text in the tables, as reckoned here."""
_NUMBER: Final = 25
_ROW: Final = 2_000_000
_GROWN: Final = 60_000
"""What a text of a recursive query may have grown to: whatever doubles it then is refused."""

Columns = Mapping[str, int]
"""Names of columns, and the most characters that each may hold."""


@dataclass(frozen=True, slots=True)
class _Scope:
    """What names stand for at a place: queries of WITH, and the tables of the query and of those around it."""

    schema: Mapping[str, Columns]
    queries: Mapping[str, Columns]
    around: tuple[Mapping[str, Columns], ...] = ()


def schema(columns: Mapping[str, tuple[str, ...]]) -> Mapping[str, Columns]:
    """The tables and views, by the names of their columns."""
    return {table: dict.fromkeys(names, _COLUMN) for table, names in columns.items()}


def check(query: exp.Expr, known: Mapping[str, Columns]) -> None:
    """Refuse a query with a name that is not a column, or a text that may get too long.

    Raises
    ------
    SqlError
        It has one.

    """
    found = _outputs(query, _Scope(known, {}))
    if sum(found.values()) > _ROW:
        raise SqlError(f"a row of this query may have more than {_ROW:,} characters: select less")


def named(identifier: exp.Expr) -> str:
    """A name as PostgreSQL reads it: small letters unless it is quoted."""
    text = str(identifier.this)
    return text if identifier.args.get("quoted") else "".join(c.lower() if c.isascii() else c for c in text)


def _alias(node: exp.Expr) -> str:
    alias = node.args.get("alias")
    name = alias.this if isinstance(alias, exp.TableAlias) else alias
    return named(name) if isinstance(name, exp.Identifier) else ""


def _outputs(query: exp.Expr, scope: _Scope) -> Columns:
    """The columns of a query that can be named from outside of it."""
    if isinstance(query, exp.Values):
        _sizes(query.expressions, scope, {})
        return {f"column{at + 1}": LONGEST // 10 for at in range(len(query.expressions[0].expressions))}
    with_ = query.args.get("with_")
    for cte in with_.expressions if with_ else ():
        scope = replace(scope, queries={**scope.queries, **_of_cte(cte, scope)})
    if isinstance(query, exp.Subquery):
        found = _outputs(query.this, scope)
        _sizes(_parts(query, "order", "limit", "offset"), scope, found)
        return found
    if isinstance(query, exp.SetOperation):
        left, right = _outputs(query.this, scope), _outputs(query.expression, scope)
        most = max(right.values(), default=0)
        _sizes(_parts(query, "order", "limit", "offset"), scope, left)
        return {name: max(size, most) for name, size in left.items()}
    if not isinstance(query, exp.Select):
        raise SqlError(f"{query.sql(dialect='postgres')[:60]} is refused: a query begins with SELECT")
    return _of_select(query, scope)


def _of_cte(cte: exp.Expr, scope: _Scope) -> Mapping[str, Columns]:
    name, query, with_ = _alias(cte), cte.this, cte.parent
    listed = [named(column) for column in cte.args["alias"].args.get("columns") or ()]

    def said(columns: Columns) -> Columns:
        return dict.fromkeys(listed, max(columns.values(), default=0)) if listed else columns

    if with_ is not None and with_.args.get("recursive") and isinstance(query, exp.SetOperation):
        begin = said(_outputs(query.this, scope))
        itself = {column: max(size, _GROWN) for column, size in begin.items()}
        scope = replace(scope, queries={**scope.queries, name: itself})
    return {name: said(_outputs(query, scope))}


def _of_select(query: exp.Select, scope: _Scope) -> Columns:
    sources = dict[str, Columns]()
    outside, around = scope, scope.around
    for node in (*_parts(query, "from_"), *query.args.get("joins", ())):
        name, columns = _source(node.this, outside)
        if name in sources:
            raise SqlError(f"{name[:60]} stands for two tables: give one another alias")
        sources[name] = columns
        scope = replace(scope, around=(*around, sources))
        for column in node.args.get("using") or ():
            _size_of_column(None, named(column if isinstance(column, exp.Identifier) else column.this), scope, {})
        _sizes(_parts(node, "on"), scope, {})
    scope = replace(scope, around=(*around, sources))
    sizes = _sizes(query.expressions, scope, {})
    found = dict[str, int]()
    for part, size in zip(query.expressions, sizes, strict=True):
        found.update(_output(part, size, sources))
    _sizes([*_parts(query, "where", "having", "limit", "offset"), *query.args.get("windows", ())], scope, {})
    _sizes(_parts(query, "group", "order", "distinct"), scope, found)
    return found


def _parts(node: exp.Expr, *names: str) -> list[exp.Expr]:
    return [part for name in names if isinstance(part := node.args.get(name), exp.Expr)]


def _source(node: exp.Expr, scope: _Scope) -> tuple[str, Columns]:
    if isinstance(node, exp.Table):
        name = named(node.this)
        known = {**scope.schema, **scope.queries}
        if name not in known:
            raise SqlError(f"there is no table or view {name[:60]}: {nearest(name, known)}")
        return _alias(node) or name, known[name]
    if isinstance(node, (exp.Subquery, exp.Values)):
        return _alias(node), _outputs(node, scope)
    raise SqlError(f"{node.sql(dialect='postgres')[:60]} is refused: a query reads tables, views and queries")


def _output(part: exp.Expr, size: int, sources: Mapping[str, Columns]) -> Columns:
    """What a column of a SELECT is called, if it has a name on every database."""
    if part.is_star:
        of = named(part.args["table"]) if isinstance(part, exp.Column) else None
        return {name: most for source, found in sources.items() if of in (None, source) for name, most in found.items()}
    if isinstance(part, exp.Alias):
        return {_alias(part): size}
    return {named(part.this): size} if isinstance(part, exp.Column) else {"": size}


def _sizes(parts: list[exp.Expr], scope: _Scope, aliases: Columns) -> list[int]:
    """The most characters of each expression, once all names in them are known."""
    sizes = dict[int, int]()
    for node in reversed(list(_nodes(parts))):
        sizes[id(node)] = _size(node, sizes, scope, aliases)
        if sizes[id(node)] > LONGEST:
            raise SqlError(f"{node.sql(dialect='postgres')[:60]} may make a text of more than {LONGEST:,} characters")
    return [sizes[id(part)] for part in parts]


def _nodes(parts: list[exp.Expr]) -> Iterator[exp.Expr]:
    """Every node of expressions, containers first; not what is in their queries and columns."""
    stack = list(parts)
    while stack:
        node = stack.pop()
        yield node
        if not isinstance(node, (exp.Query, exp.Column)):
            stack.extend(node.iter_expressions())


def _size(node: exp.Expr, sizes: Mapping[int, int], scope: _Scope, aliases: Columns) -> int:
    if isinstance(node, exp.Query):
        return max(_outputs(node, scope).values(), default=0)
    if isinstance(node, exp.Column):
        return _column(node, scope, aliases)
    if isinstance(node, exp.Literal):
        return len(str(node.this))
    inner = {name: sizes.get(id(part), 0) for name, part in node.args.items() if isinstance(part, exp.Expr)}
    return _size_of_made(node, inner, [sizes.get(id(part), 0) for part in node.iter_expressions()])


def _size_of_made(node: exp.Expr, named: Mapping[str, int], parts: list[int]) -> int:
    """The most characters of what is made of parts whose sizes are known."""
    if isinstance(node, (exp.Like, exp.ILike)) and named["expression"] > _PATTERN:
        raise SqlError(f"the pattern of a LIKE may have more than {_PATTERN:,} characters: write it out")
    if isinstance(node, (exp.DPipe, exp.Concat)):
        return sum(parts)
    if isinstance(node, exp.Replace):
        return named["this"] * max(named.get("replacement", 0), 1)
    return _GROWN if isinstance(node, exp.GroupConcat) else max(parts, default=_NUMBER)


def _column(node: exp.Column, scope: _Scope, aliases: Columns) -> int:
    if node.args.get("db") or node.args.get("catalog"):
        raise SqlError(f"{node.sql(dialect='postgres')[:60]} is refused: name a column TABLE.COLUMN")
    table = node.args.get("table")
    of = None if table is None else named(table)
    if isinstance(node.this, exp.Star):
        if of not in scope.around[-1]:
            raise SqlError(f"there is no table {str(of)[:60]} in this query: {nearest(str(of), scope.around[-1])}")
        return 0
    return _size_of_column(of, named(node.this), scope, aliases)


def _size_of_column(of: str | None, name: str, scope: _Scope, aliases: Columns) -> int:
    if of is None and name and name in aliases:
        return aliases[name]
    for sources in reversed(scope.around):
        for source, columns in sources.items():
            if name and name in columns and of in (None, source):
                return columns[name]
        if of in sources:
            break
    known = {name for sources in scope.around for columns in sources.values() for name in columns if name}
    said = name if of is None else f"{of}.{name}"
    raise SqlError(f"the column {said[:60]} is not known here: {nearest(name, {*known, *aliases} - {''})}")
