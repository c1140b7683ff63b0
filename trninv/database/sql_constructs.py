"""SQL constructs that compile differently on each database: concatenation, JSON, ids, lists, joins, the hour."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from sqlalchemy import ColumnClause, ColumnElement, Dialect, Join, Text, TypeDecorator, bindparam
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

_MAX_ARGUMENTS = 100
"""The maximum number of arguments to SQLite's printf: its oldest builds allow 127."""
ConcatArgument = str | ColumnElement[Any]


class _Constant(ColumnClause[str]):
    """Constant text in a concatenation; as an expression, it is part of the key under which a statement is cached."""

    inherit_cache = True


class Concat(FunctionElement[str]):
    """A concatenation of constant text and expressions that are never null; nested ones are flattened."""

    inherit_cache = True
    type = Text()

    def __init__(self, pieces: Sequence[ConcatArgument]) -> None:
        merged: list[ConcatArgument] = []
        for piece in _flatten(pieces):
            if isinstance(piece, str) and merged and isinstance(merged[-1], str):
                merged[-1] += piece
            else:
                merged.append(piece)
        super().__init__(*(_Constant(piece, Text()) if isinstance(piece, str) else piece for piece in merged))

    @property
    def pieces(self) -> list[ConcatArgument]:
        """Constant text and expressions, in order."""
        return [piece.name if isinstance(piece, _Constant) else piece for piece in self.clauses]


def _flatten(pieces: Sequence[ConcatArgument]) -> list[ConcatArgument]:
    """Replace each nested concatenation by its pieces."""
    return [inner for piece in pieces for inner in (piece.pieces if isinstance(piece, Concat) else [piece])]


@compiles(Concat, "sqlite")
def _concat_on_sqlite(concat: Concat, compiler: Any, **options: Any) -> str:
    pieces = concat.pieces
    return " || ".join(
        _printf(pieces[start : start + _MAX_ARGUMENTS], compiler, options)
        for start in range(0, len(pieces) or 1, _MAX_ARGUMENTS)
    )


def _printf(pieces: Sequence[ConcatArgument], compiler: Any, options: dict[str, Any]) -> str:
    """Return a call of SQLite's printf for at most `_MAX_ARGUMENTS` pieces."""
    template = "".join(piece.replace("%", "%%") if isinstance(piece, str) else "%s" for piece in pieces)
    arguments = [compiler.process(piece, **options) for piece in pieces if not isinstance(piece, str)]
    if not arguments:
        return _quoted("".join(map(str, pieces)))
    return f"printf({', '.join([_quoted(template), *arguments])})"


@compiles(Concat, "postgresql")
def _concat_on_postgresql(concat: Concat, compiler: Any, **options: Any) -> str:
    escaped = (
        _quoted(piece).replace("%", "%%")  # psycopg takes a single % for a placeholder
        if isinstance(piece, str)
        else f"CAST({compiler.process(piece, **options)} AS TEXT)"
        for piece in concat.pieces
    )
    return f"({' || '.join(escaped) or _quoted('')})"


def _quoted(text: str) -> str:
    escaped = text.replace("'", "''")
    return f"'{escaped}'"


class JsonRows(FunctionElement[str]):
    """A JSON array with an array of the arguments for each row, ordered by the first argument.

    On SQLite, whose older versions cannot sort inside an aggregate, it has the order in which the rows are read.
    """

    inherit_cache = True
    type = Text()


@compiles(JsonRows, "sqlite")
def _json_rows_on_sqlite(rows: JsonRows, compiler: Any, **options: Any) -> str:
    return f"json_group_array(json_array({compiler.process(rows.clauses, **options)}))"


@compiles(JsonRows, "postgresql")
def _json_rows_on_postgresql(rows: JsonRows, compiler: Any, **options: Any) -> str:
    first = compiler.process(next(iter(rows.clauses)), **options)
    return f"json_agg(json_build_array({compiler.process(rows.clauses, **options)}) ORDER BY {first})"


class _Ids(TypeDecorator[Iterable[int]]):
    """A parameter with many integers: an array of PostgreSQL, a JSON array for SQLite, both as text."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Iterable[int] | None, dialect: Dialect) -> str:
        ids = ",".join(map(str, value or ()))
        return f"{{{ids}}}" if dialect.name == "postgresql" else f"[{ids}]"


class IsOneOf(FunctionElement[bool]):
    """Whether an integer column has one of the values of a parameter, however many these are.

    With a parameter for each value, the statement is compiled again, and psycopg neither caches nor prepares it.
    """

    inherit_cache = True  # it has no type: of a boolean, SQLite would compare the value with 1 and use no index

    def __init__(self, column: ColumnElement[int], parameter: str) -> None:
        super().__init__(column, bindparam(parameter, type_=_Ids()))


@compiles(IsOneOf, "sqlite")
def _is_one_of_on_sqlite(condition: IsOneOf, compiler: Any, **options: Any) -> str:
    column, ids = (compiler.process(clause, **options) for clause in condition.clauses)
    return f"{column} IN (SELECT value FROM json_each({ids}))"  # noqa: S608 # compiled SQL


@compiles(IsOneOf, "postgresql")
def _is_one_of_on_postgresql(condition: IsOneOf, compiler: Any, **options: Any) -> str:
    column, ids = (compiler.process(clause, **options) for clause in condition.clauses)
    return f"{column} = ANY(CAST({ids} AS integer[]))"


class JoinedIntegers(FunctionElement[str]):
    """The integers of a column in all rows, separated by commas, in the order of a key.

    On SQLite, whose older versions cannot sort inside an aggregate, they have the order in which the rows are read; it
    is the same for all columns of a statement.
    """

    inherit_cache = True
    type = Text()


@compiles(JoinedIntegers, "sqlite")
def _joined_integers_on_sqlite(joined: JoinedIntegers, compiler: Any, **options: Any) -> str:
    column, _key = joined.clauses
    return f"group_concat({compiler.process(column, **options)})"


@compiles(JoinedIntegers, "postgresql")
def _joined_integers_on_postgresql(joined: JoinedIntegers, compiler: Any, **options: Any) -> str:
    column, key = (compiler.process(clause, **options) for clause in joined.clauses)
    return f"string_agg(CAST({column} AS TEXT), ',' ORDER BY {key})"


class OrderedJoin(Join):
    """An inner join, its right side a table, that SQLite reads from left to right; other databases choose the order.

    After ANALYZE, SQLite may choose another order, and then compares every row of a domain with every row of its
    blueprint, the pattern that domains of one model share.
    """

    inherit_cache = True


@compiles(OrderedJoin, "sqlite")
def _ordered_join_on_sqlite(join: OrderedJoin, compiler: Any, **options: Any) -> str:
    # the right side is a table, so the last JOIN is this one
    tables, _, table = compiler.visit_join(join, **options).rpartition(" JOIN ")
    return f"{tables} CROSS JOIN {table}"


class CurrentHour(FunctionElement[str]):
    """The start of the current hour in UTC, as a text that sorts before every timestamp in that hour."""

    inherit_cache = True
    type = Text()


@compiles(CurrentHour, "sqlite")
def _current_hour_on_sqlite(*_: Any, **__: Any) -> str:
    return "strftime('%Y-%m-%dT%H', 'now')"


@compiles(CurrentHour, "postgresql")
def _current_hour_on_postgresql(*_: Any, **__: Any) -> str:
    return "to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24')"


class CurrentTime(FunctionElement[str]):
    """The current time in UTC, to the millisecond, as a text that sorts like a timestamp."""

    inherit_cache = True
    type = Text()


@compiles(CurrentTime, "sqlite")
def _current_time_on_sqlite(*_: Any, **__: Any) -> str:
    return "strftime('%Y-%m-%dT%H:%M:%f', 'now')"


@compiles(CurrentTime, "postgresql")
def _current_time_on_postgresql(*_: Any, **__: Any) -> str:
    return "to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS')"


CLOCKS: Final = (CurrentHour, CurrentTime)
"""All that reads the clock in fields: responses with one are not kept (`trninv.graphql.compiler.statement_plan`)."""
