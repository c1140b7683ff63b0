"""Translate a checked query to SQLite or PostgreSQL, so that both return the same rows; called by `query_compiler`.

Functions that SQLite lacks are in `trninv.reports.sqlite_process`, under PostgreSQL's names. Where the two differ,
texts compare by bytes and change case in ASCII only, halves round away from zero, and a division by zero is null.
"""

from collections.abc import Callable, Mapping
from typing import Final

from sqlalchemy import Boolean
from sqlglot import exp

from trninv.database.query_result import MAX_TEXT_LENGTH
from trninv.database.tables import TABLES
from trninv.errors import SqlError
from trninv.reports.sql_grammar import cast_type

_TRUNCATED_LENGTH: Final = str(MAX_TEXT_LENGTH + 1)  # still too long for the reader, which refuses it
_WRAPPERS: Final = (exp.Filter, exp.Window, exp.WithinGroup)
"""The nodes of FILTER, OVER and WITHIN GROUP, which have the function that they follow as a child."""
_PREDICATES: Final = (exp.Predicate, exp.Connector, exp.Not, exp.Boolean)
"""Expressions whose value is a boolean."""
_BOOLEAN_COLUMNS: Final = frozenset(
    column.name for table in TABLES.values() for column in table.columns if isinstance(column.type, Boolean)
)
_GROWING: Final = (exp.DPipe, exp.Concat, exp.Replace)
"""Expressions whose text may be longer than each argument; in a recursive query it could grow without bound."""

TranslationRule = Callable[[exp.Expr], exp.Expr]
"""Returns the node to put in place of a node, which may be the same one, changed."""


def translate(tree: exp.Expr, dialect: str) -> exp.Expr:
    """Return the tree translated to a dialect (sqlite, postgres)."""
    rules = {**_COMMON_RULES, **(_SQLITE_RULES if dialect == "sqlite" else _POSTGRES_RULES)}
    nodes = list(tree.walk())
    if dialect == "postgres":
        for node in nodes:
            if isinstance(node, _GROWING) and _is_recursive(node) and not isinstance(node.parent, _GROWING):
                _wrap(node, _truncate)
        _number_booleans(tree)
    for node in reversed(nodes):  # children before parents
        if (rule := rules.get(type(node))) and (replacement := rule(node)) is not node:
            node.replace(replacement)
    if dialect == "postgres":
        _collate_recursive_starts(tree)
    return tree


def _call(name: str, *arguments: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this=name, expressions=list(arguments))


def _cast(node: exp.Expr, to: exp.DType) -> exp.Expr:
    return exp.Cast(this=node, to=exp.DataType(this=to))


def _double(node: exp.Expr) -> exp.Expr:
    return _cast(node, exp.DType.DOUBLE)


def _truncate(node: exp.Expr) -> exp.Expr:
    """Cut a text to one character more than the limit, so that the reader still refuses it."""
    return _call("left", node, exp.Literal.number(_TRUNCATED_LENGTH))


def _number_booleans(tree: exp.Expr) -> None:
    """Convert booleans to 1 or 0 before casts, as on SQLite; PostgreSQL casts them only to integer and text."""
    aliases = {alias.alias for alias in tree.find_all(exp.Alias) if _is_boolean(alias.this, _BOOLEAN_COLUMNS)}
    for cast in list(tree.find_all(exp.Cast)):
        if _is_boolean(cast.this, _BOOLEAN_COLUMNS | aliases):
            cast.set("this", _cast(cast.this, exp.DType.INT))


def _is_boolean(value: exp.Expr, columns: frozenset[str]) -> bool:
    """Return whether a value is boolean, if `columns` are the names of boolean columns."""
    match value:
        case exp.Column():
            return value.name.lower() in columns
        case exp.Paren():
            return _is_boolean(value.this, columns)
        case exp.Coalesce():
            return any(_is_boolean(argument, columns) for argument in (value.this, *value.expressions))
        case exp.Case():
            results = [branch.args["true"] for branch in value.args["ifs"]] + [value.args.get("default")]
            return any(result is not None and _is_boolean(result, columns) for result in results)
    return isinstance(value, _PREDICATES)


def _collate_recursive_starts(tree: exp.Expr) -> None:
    """Give the first texts of a recursive query the collation of the columns in its recursive part: by bytes."""
    for with_ in tree.find_all(exp.With):
        for cte in with_.expressions if with_.args.get("recursive") else ():
            query = cte.this
            while isinstance(query, exp.SetOperation):
                query = query.this
            for part in query.expressions:
                value = part.unalias()
                if _is_text(value) and not value.find(exp.Column):
                    value.replace(_by_bytes(value.copy()))


def _is_text(value: exp.Expr) -> bool:
    if isinstance(value, exp.Cast):
        return bool(value.to.this == exp.DType.TEXT)
    is_left = isinstance(value, exp.Anonymous) and value.name == "left"
    return is_left or isinstance(value, (exp.DPipe, exp.Concat)) or bool(value.is_string)


def _is_recursive(node: exp.Expr) -> bool:
    return any(with_.args.get("recursive") for with_ in _ancestors(node) if isinstance(with_, exp.With))


def _ancestors(node: exp.Expr) -> list[exp.Expr]:
    ancestors = list[exp.Expr]()
    while node.parent is not None:
        node = node.parent
        ancestors.append(node)
    return ancestors


def _wrap(node: exp.Expr, replacement: TranslationRule) -> exp.Expr:
    """Wrap a function together with its FILTER and OVER; return the node that was wrapped."""
    while isinstance(node.parent, _WRAPPERS) and node.parent.this is node:
        node = node.parent
    placeholder = exp.Placeholder()
    node.replace(placeholder)
    placeholder.replace(replacement(node))
    return node


def _as_double(node: exp.Expr) -> exp.Expr:
    _wrap(node, _double)
    return node


def _date(node: exp.Expr) -> exp.Expr:
    text = _cast(node.this, exp.DType.TEXT)
    return exp.Substring(this=text, start=exp.Literal.number(1), length=exp.Literal.number(10))


def _ilike(lower: TranslationRule) -> TranslationRule:
    """Return a rule that replaces ILIKE with a LIKE of both texts in lower case."""

    def translate_ilike(node: exp.Expr) -> exp.Expr:
        negate = node.args.get("negate")
        return exp.Like(this=lower(node.this), expression=lower(node.expression), negate=negate)

    return translate_ilike


def _by_bytes(node: exp.Expr) -> exp.Expr:
    return exp.Collate(this=exp.paren(node, copy=False), expression=exp.to_identifier("C", quoted=True))


def _collate_argument(node: exp.Expr) -> exp.Expr:
    node.set("this", _by_bytes(node.this))
    return node


def _substring(node: exp.Expr) -> exp.Expr:
    """Cast start and length to integers: PostgreSQL takes a text as start for a regular expression."""
    for name in ("start", "length"):
        value = node.args.get(name)
        if value is not None and not (isinstance(value, exp.Literal) and not value.is_string):
            node.set(name, _cast(value, exp.DType.INT))
    return node


def _checked_substring(node: exp.Expr) -> exp.Expr:
    """Refuse a negative start, which means different things on SQLite and PostgreSQL."""
    if isinstance(node.args.get("start"), exp.Neg):
        raise SqlError("substr counts from 1, not from the end; use a positive start")
    return node


def _divide_or_null(node: exp.Expr) -> exp.Expr:
    divisor = node.expression
    if not (isinstance(divisor, exp.Literal) and not divisor.is_string and float(divisor.name)):
        node.set("expression", exp.Nullif(this=divisor, expression=exp.Literal.number(0)))
    return node


def _number_on_postgres(node: exp.Expr) -> exp.Expr:
    return node if node.args.get("is_string") or str(node.this).isdigit() else _double(node.copy())


def _like_on_postgres(node: exp.Expr) -> exp.Expr:
    """Turn off escapes in a LIKE without ESCAPE: on PostgreSQL, a backslash would escape, on SQLite it does not."""
    pattern = node.expression
    plain = isinstance(pattern, exp.Literal) and "\\" not in pattern.name
    return node if plain or isinstance(node.parent, exp.Escape) else exp.Escape(this=node.copy(), expression=_NO_ESCAPE)


_NO_ESCAPE: Final = exp.Literal.string("")


def _cast_on_postgres(node: exp.Expr) -> exp.Expr:
    match cast_type(node):
        case "date":
            return _date(node)
        case "bigint":
            # numeric rounds halves away from zero, a float to even
            return _cast(_cast(node.this, exp.DType.DECIMAL), exp.DType.BIGINT)
        case "double":
            return _double(node.this)
        case "text":
            return _wrap(node, _by_bytes)
    return node


def _cast_on_sqlite(node: exp.Expr) -> exp.Expr:
    to = cast_type(node)
    return _date_on_sqlite(node) if to == "date" else _call(f"to_{to}", node.this)


def _date_on_sqlite(node: exp.Expr) -> exp.Expr:
    return _call("substr", node.this, exp.Literal.number(1), exp.Literal.number(10))


def _round_on_postgres(node: exp.Expr) -> exp.Expr:
    node.set("this", _cast(node.this, exp.DType.DECIMAL))
    return _as_double(node)


def _own_function_on_postgres(node: exp.Expr) -> exp.Expr:
    """Translate trninv's functions: epoch(text) to seconds, total(x) to a sum that is 0.0 without rows."""
    (argument,) = node.expressions
    if node.name.lower() == "epoch":
        timestamp = _cast(argument, exp.DType.TIMESTAMPTZ)
        seconds = exp.Floor(this=exp.Extract(this=exp.var("EPOCH"), expression=timestamp))
        return _cast(seconds, exp.DType.BIGINT)
    sum_node = exp.Sum(this=argument)
    node.replace(sum_node)
    _wrap(sum_node, lambda total: exp.Coalesce(this=_double(total), expressions=[_double(exp.Literal.number(0))]))
    return sum_node


def _own_function_on_sqlite(node: exp.Expr) -> exp.Expr:
    if node.name.lower() == "epoch":
        return _cast(_call("strftime", exp.Literal.string("%s"), *node.expressions), exp.DType.BIGINT)
    return node


def _string_agg_on_postgres(node: exp.Expr) -> exp.Expr:
    _wrap(node, _truncate)
    argument = node.this
    inner = argument.this if isinstance(argument, exp.Order) else argument
    if not isinstance(inner, exp.Distinct):
        inner.replace(_cast(inner.copy(), exp.DType.TEXT))
    return node


def _string_agg_on_sqlite(node: exp.Expr) -> exp.Expr:
    argument, order = node.this, []
    if isinstance(argument, exp.Order):
        if len(argument.expressions) != 1:
            raise SqlError("string_agg takes one ORDER BY; remove the others")
        (sort_key,) = argument.expressions
        argument, order = argument.this, [sort_key.this, exp.Literal.number(1 if sort_key.args.get("desc") else 0)]
    if isinstance(argument, exp.Distinct):
        raise SqlError("string_agg(DISTINCT …) is refused; put the DISTINCT into a subquery")
    return _call("string_agg", argument, node.args.get("separator") or exp.Literal.string(","), *order)


def _percentile_on_sqlite(node: exp.Expr) -> exp.Expr:
    (sort_key,) = node.expression.expressions
    return _call(
        "percentile_cont", sort_key.this, node.this.this, exp.Literal.number(1 if sort_key.args.get("desc") else 0)
    )


def _concatenate_on_sqlite(node: exp.Expr) -> exp.Expr:
    """Convert numbers to text as PostgreSQL does: 2.0 is 2."""
    for name in ("this", "expression"):
        value = node.args[name]
        if not isinstance(value, (exp.Literal, exp.DPipe)) or (isinstance(value, exp.Literal) and not value.is_string):
            node.set(name, _call("to_text", value))
    return node


def _rename_function(name: str) -> TranslationRule:
    def rename(node: exp.Expr) -> exp.Expr:
        first = [node.this] if isinstance(node.args.get("this"), exp.Expr) else []
        return _call(name, *first, *node.expressions)

    return rename


_COMMON_RULES: Final[Mapping[type[exp.Expr], TranslationRule]] = {
    **dict.fromkeys((exp.Ceil, exp.Floor, exp.Pow, exp.Sqrt, exp.Ln, exp.Log, exp.Sign), _as_double),
    **dict.fromkeys((exp.Avg, exp.Stddev, exp.Variance), _as_double),
    exp.Substring: _checked_substring,
}
_POSTGRES_RULES: Final[Mapping[type[exp.Expr], TranslationRule]] = {
    exp.Anonymous: _own_function_on_postgres,
    exp.Cast: _cast_on_postgres,
    exp.Div: _divide_or_null,
    exp.GroupConcat: _string_agg_on_postgres,
    exp.ILike: _ilike(lambda node: exp.Lower(this=_by_bytes(node))),
    exp.Like: _like_on_postgres,
    exp.Literal: _number_on_postgres,
    exp.Lower: _collate_argument,
    exp.Mod: _divide_or_null,
    exp.Round: _round_on_postgres,
    exp.Substring: lambda node: _substring(_checked_substring(node)),
    exp.Upper: _collate_argument,
}
_SQLITE_RULES: Final[Mapping[type[exp.Expr], TranslationRule]] = {
    exp.Anonymous: _own_function_on_sqlite,
    exp.Cast: _cast_on_sqlite,
    exp.Concat: _rename_function("concat"),
    exp.DPipe: _concatenate_on_sqlite,
    exp.Greatest: _rename_function("greatest"),
    exp.GroupConcat: _string_agg_on_sqlite,
    exp.ILike: _ilike(lambda node: exp.Lower(this=node)),
    exp.Least: _rename_function("least"),
    exp.Round: _as_double,
    exp.WithinGroup: _percentile_on_sqlite,
}
