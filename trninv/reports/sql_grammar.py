"""List the SQL constructs, functions and types that a user's query may use, and reject all others.

Queries are parsed as PostgreSQL's on either database. Because the lists say what is allowed, an omission from them
can't let anything through.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from math import isfinite
from typing import Final

from sqlglot import exp

from trninv.errors import SqlError
from trninv.units import format_timestamp

_QUERY: Final = (
    exp.Select, exp.Union, exp.Intersect, exp.Except, exp.Subquery, exp.With, exp.CTE, exp.From, exp.Join, exp.Table,
    exp.TableAlias, exp.Values, exp.Tuple, exp.Where, exp.Group, exp.Having, exp.Order, exp.Ordered, exp.Limit,
    exp.Offset, exp.Distinct, exp.Alias, exp.Column, exp.Identifier, exp.Star, exp.Window, exp.WindowSpec, exp.Filter,
    exp.WithinGroup,
)  # fmt: skip
_VALUES: Final = (
    exp.Literal, exp.Null, exp.Boolean, exp.Paren, exp.DataType, exp.In, exp.Between, exp.Like, exp.ILike, exp.Escape,
    exp.Is, exp.Not, exp.And, exp.Or, exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ,
    exp.NullSafeNEQ, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.Neg, exp.DPipe,
)  # fmt: skip
NODE_TYPES: Final = frozenset({*_QUERY, *_VALUES})
"""The classes of nodes allowed in a tree, besides functions; classes derived from them are not allowed."""

FUNCTIONS: Final[Mapping[type[exp.Expr], str]] = {
    exp.Abs: "abs", exp.Avg: "avg", exp.Case: "case", exp.Cast: "cast", exp.Ceil: "ceil", exp.Coalesce: "coalesce",
    exp.Concat: "concat", exp.Count: "count", exp.CumeDist: "cume_dist", exp.DenseRank: "dense_rank",
    exp.Exists: "exists", exp.FirstValue: "first_value", exp.Floor: "floor", exp.Greatest: "greatest", exp.If: "if",
    exp.Lag: "lag", exp.LastValue: "last_value", exp.Lead: "lead", exp.Least: "least", exp.Length: "length",
    exp.Ln: "ln", exp.Log: "log", exp.Lower: "lower", exp.Max: "max", exp.Min: "min", exp.NthValue: "nth_value",
    exp.Ntile: "ntile", exp.Nullif: "nullif", exp.PercentRank: "percent_rank", exp.PercentileCont: "percentile_cont",
    exp.Pow: "power", exp.Rank: "rank", exp.Replace: "replace", exp.Round: "round", exp.RowNumber: "row_number",
    exp.Sign: "sign", exp.Sqrt: "sqrt", exp.Stddev: "stddev", exp.StrPosition: "strpos", exp.GroupConcat: "string_agg",
    exp.Substring: "substring", exp.Sum: "sum", exp.Trim: "trim", exp.Upper: "upper", exp.Variance: "variance",
}  # fmt: skip
"""The functions allowed, with their names; those that sqlglot has no class for are in `OWN_FUNCTIONS`."""
OWN_FUNCTIONS: Final = {"total": 1, "epoch": 1}
"""The functions that trninv adds to SQL, with their numbers of arguments."""

_TYPES: Final = {
    **dict.fromkeys((exp.DType.TEXT, exp.DType.VARCHAR), "text"),
    **dict.fromkeys((exp.DType.SMALLINT, exp.DType.INT, exp.DType.BIGINT), "bigint"),
    **dict.fromkeys((exp.DType.FLOAT, exp.DType.DOUBLE, exp.DType.DECIMAL), "double"),
    exp.DType.DATE: "date",
}
_NUMBER_LIMIT: Final = 2**63
"""Whole numbers in a query must be less than this."""
_ARGUMENTS: Final[Mapping[type[exp.Expr], frozenset[str]]] = {
    exp.Table: frozenset({"this", "alias"}),
    exp.Distinct: frozenset({"expressions"}),
    exp.Subquery: frozenset({"this", "alias", "with_", "order", "limit", "offset"}),
    exp.Cast: frozenset({"this", "to"}),
    exp.DataType: frozenset({"this", "nested"}),
    exp.Round: frozenset({"this", "decimals"}),
    exp.Escape: frozenset({"this", "expression"}),
    **dict.fromkeys((exp.Log, exp.Max, exp.Min), frozenset({"this"})),
}
"""The arguments that some nodes may have; other nodes may have any. `nested` is False for plain types."""


def check_node(node: exp.Expr) -> None:
    """Refuse a node of a query that is not listed here.

    Raises
    ------
    SqlError
        The node, its function or one of its arguments is not allowed.

    """
    kind = type(node)
    if kind is exp.Anonymous:
        if OWN_FUNCTIONS.get(node.name.lower()) != len(node.expressions):
            raise _function_error(node.name)
    elif kind not in NODE_TYPES and kind not in FUNCTIONS:
        if isinstance(node, exp.Func):
            raise _function_error(node.sql_name())
        raise SqlError(f"{_node_text(node)} is refused; use the SQL that docs/reference/sql.md describes")
    if unexpected := next((name for name in _argument_names(node) - _ARGUMENTS.get(kind, _argument_names(node))), None):
        raise SqlError(f"{_node_text(node)} is refused: {kind.__name__.upper()} takes no {unexpected} here")
    if check := _CHECKS.get(kind):
        check(node)


def _argument_names(node: exp.Expr) -> frozenset[str]:
    return frozenset(name for name, value in node.args.items() if value)


def _function_error(function: str) -> SqlError:
    return SqlError(
        f"the function {function.lower()[:60]} is refused; it is not in docs/reference/sql.md; use another one"
    )


def _node_text(node: exp.Expr) -> str:
    return node.sql(dialect="postgres", comments=False)[:60]


def cast_type(cast: exp.Expr) -> str:
    """Return the target of a cast: text, bigint, double or date.

    Raises
    ------
    SqlError
        The target is another type.

    """
    to = cast.args["to"]
    if not isinstance(to, exp.DataType) or to.this not in _TYPES:
        raise SqlError(f"a cast to {_node_text(to)} is refused; cast to TEXT, BIGINT, DOUBLE PRECISION or DATE")
    return _TYPES[to.this]


def _check_literal(node: exp.Expr) -> None:
    text = str(node.this)
    if (
        not node.args.get("is_string")
        and not (text.isdigit() and int(text) < _NUMBER_LIMIT)
        and not _is_finite_fraction(text)
    ):
        raise SqlError(
            f"the number {text[:40]} is refused: it is out of the range of both databases; use a smaller one"
        )


def _is_finite_fraction(text: str) -> bool:
    try:
        return not text.isdigit() and isfinite(float(text))
    except ValueError:
        return False


def _check_join(node: exp.Expr) -> None:
    method = (node.args.get("method") or "").upper()
    if method not in ("", "NATURAL") or _argument_names(node) & {
        "global_",
        "hint",
        "match_condition",
        "directed",
        "pivots",
    }:
        raise SqlError(f"{_node_text(node)} is refused; use an INNER, LEFT, RIGHT, FULL or CROSS join")


def _check_set_operation(node: exp.Expr) -> None:
    if _argument_names(node) & {"by_name", "side", "kind", "on"}:
        raise SqlError("UNION BY NAME is refused; put the columns into the same order")


def _check_within_group(node: exp.Expr) -> None:
    if not isinstance(node.this, exp.PercentileCont) or len(node.expression.expressions) != 1:
        raise SqlError("WITHIN GROUP is for percentile_cont and one ORDER BY only")
    if not isinstance(node.this.this, exp.Literal):
        raise SqlError("percentile_cont needs a number, such as 0.5")


def _check_percentile(node: exp.Expr) -> None:
    if not isinstance(node.parent, exp.WithinGroup):
        raise SqlError("percentile_cont needs WITHIN GROUP (ORDER BY …)")


def _check_alias(node: exp.Expr) -> None:
    if node.args.get("columns") and not isinstance(node.parent, exp.CTE):
        raise SqlError("column names after a table's alias are refused; name the columns with AS in its query")


_CHECKS: Final[Mapping[type[exp.Expr], Callable[[exp.Expr], object]]] = {
    exp.Cast: cast_type,
    exp.Literal: _check_literal,
    exp.Join: _check_join,
    exp.Union: _check_set_operation,
    exp.Intersect: _check_set_operation,
    exp.Except: _check_set_operation,
    exp.WithinGroup: _check_within_group,
    exp.PercentileCont: _check_percentile,
    exp.TableAlias: _check_alias,
}

_SECONDS_BY_UNIT: Final = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400, "week": 604_800}


def replace_time_functions(tree: exp.Expr) -> exp.Expr:
    """Replace now(), current_date and now() ± an interval in a tree by their values as text, in UTC."""
    now = datetime.now(UTC)

    def replace_node(node: exp.Expr) -> exp.Expr:
        if isinstance(node, (exp.Add, exp.Sub)) and isinstance(node.expression, exp.Interval) and _is_now(node.this):
            span = _parse_interval(node.expression) * (1 if isinstance(node, exp.Add) else -1)
            return exp.Literal.string(format_timestamp(_add_interval(now, span)))
        if _is_now(node):
            return exp.Literal.string(format_timestamp(now))
        return exp.Literal.string(now.date().isoformat()) if isinstance(node, exp.CurrentDate) else node

    return tree.transform(replace_node, copy=False)


def _is_now(node: exp.Expr) -> bool:
    # sqlglot parses SYSDATE as now() with the argument sysdate; both mean the current time
    return isinstance(node, exp.CurrentTimestamp) and not _argument_names(node) - {"sysdate"}


def _parse_interval(interval: exp.Expr) -> timedelta:
    unit = str(interval.args.get("unit") or "").lower().removesuffix("s")
    try:
        return timedelta(seconds=float(interval.name) * _SECONDS_BY_UNIT[unit])
    except (KeyError, ValueError, OverflowError):
        raise SqlError(f"{_node_text(interval)} is refused; write INTERVAL '7 days', in weeks, days, hours …") from None


def _add_interval(now: datetime, span: timedelta) -> datetime:
    try:
        return now + span
    except OverflowError:
        raise SqlError("the interval leads beyond the years 1 to 9999; use a shorter one") from None
