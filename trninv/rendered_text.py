"""Define the text of an answer or of a change's result: lines and tables, which `trninv.cli` prints."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass


class Detail(str):
    """A line that is not the answer but belongs to it, such as a link of a cut; `--explain` prints it."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class RenderedTable:
    """A table within a text; cells are printed with `str`.

    Attributes
    ----------
    optional_columns
        Columns to omit, in this order, if the table does not fit the terminal.
    is_detail
        Whether it is printed only with `--explain`, as a `Detail` is.

    """

    headers: Sequence[str]
    rows: Iterable[Iterable[object]]
    optional_columns: Sequence[str] = ()
    is_detail: bool = False


Rendered = Iterator[str | RenderedTable]
"""Lines and tables, in order."""
