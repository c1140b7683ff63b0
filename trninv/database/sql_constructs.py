"""SQL constructs that compile differently on each database: concatenation and joins in a fixed order."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Join, Text
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

_MAX_ARGUMENTS = 100
"""The maximum number of arguments to SQLite's printf: its oldest builds allow 127."""
ConcatArgument = str | ColumnElement[Any]


class Concat(FunctionElement[str]):
    """A concatenation of constant text and expressions that are never null; nested ones are flattened."""

    inherit_cache = False
    type = Text()

    def __init__(self, pieces: Sequence[ConcatArgument]) -> None:
        flat: list[ConcatArgument] = []
        for piece in _flat(pieces):
            if isinstance(piece, str) and flat and isinstance(flat[-1], str):
                flat[-1] += piece
            else:
                flat.append(piece)
        self.form = tuple(piece if isinstance(piece, str) else None for piece in flat)
        super().__init__(*(piece for piece in flat if not isinstance(piece, str)))

    @property
    def pieces(self) -> list[ConcatArgument]:
        """Constant text and expressions, in order."""
        arguments = iter(self.clauses)
        return [next(arguments) if text is None else text for text in self.form]


def _flat(pieces: Sequence[ConcatArgument]) -> list[ConcatArgument]:
    return [inner for piece in pieces for inner in (piece.pieces if isinstance(piece, Concat) else [piece])]


@compiles(Concat, "sqlite")
def _on_sqlite(template: Concat, compiler: Any, **how: Any) -> str:
    pieces = template.pieces
    return " || ".join(
        _printf(pieces[start : start + _MAX_ARGUMENTS], compiler, how)
        for start in range(0, len(pieces) or 1, _MAX_ARGUMENTS)
    )


def _printf(pieces: Sequence[ConcatArgument], compiler: Any, how: dict[str, Any]) -> str:
    form = "".join(piece.replace("%", "%%") if isinstance(piece, str) else "%s" for piece in pieces)
    arguments = [compiler.process(piece, **how) for piece in pieces if not isinstance(piece, str)]
    if not arguments:
        return _quoted("".join(map(str, pieces)))
    return f"printf({', '.join([_quoted(form), *arguments])})"


@compiles(Concat, "postgresql")
def _on_postgresql(template: Concat, compiler: Any, **how: Any) -> str:
    escaped = (
        _quoted(piece).replace("%", "%%")
        if isinstance(piece, str)
        else f"CAST({compiler.process(piece, **how)} AS TEXT)"
        for piece in template.pieces
    )
    return f"({' || '.join(escaped) or _quoted('')})"


def _quoted(text: str) -> str:
    escaped = text.replace("'", "''")
    return f"'{escaped}'"


class OrderedJoin(Join):
    """An inner join with a table that SQLite reads from left to right; other databases choose the order themselves.

    After ANALYZE, SQLite may choose another order, and then compares every row of a domain with every row of its
    blueprint.
    """

    inherit_cache = True


@compiles(OrderedJoin, "sqlite")
def _cross(join: OrderedJoin, compiler: Any, **how: Any) -> str:
    # the right side is a table, so the last JOIN is this one
    tables, _, table = compiler.visit_join(join, **how).rpartition(" JOIN ")
    return f"{tables} CROSS JOIN {table}"
