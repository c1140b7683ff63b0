"""Define the text of an answer or of a change's result: lines and tables, which `trninv.cli` prints."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RenderedTable:
    """A table within a text; cells are printed with `str`.

    Attributes
    ----------
    optional_columns
        Columns to omit, in this order, if the table does not fit the terminal.

    """

    headers: Sequence[str]
    rows: Iterable[Iterable[object]]
    optional_columns: Sequence[str] = ()


Rendered = Iterator[str | RenderedTable]
"""Lines and tables, in order."""
