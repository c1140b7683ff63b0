"""Describe the views and their columns, for docs/reference/sql.md.

A view's file begins with its description: what a row is, a line ``-- COLUMN[, COLUMN]: MEANING`` for each column, and
a line ``-- example: SELECT …``. ``-- common: COLUMN, …`` names columns of `COMMON_COLUMNS`.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from trninv.inventory.schema.thing import Field, Thing, ValueFormat, View
from trninv.reports.views.declared_views import DECLARED_VIEWS, view_columns

COMMON_COLUMNS: Final[Mapping[str, str]] = {
    "address": "address, such as `u-trn2x64/d0/s1/c5`",
    "cluster": "name of the cluster",
    "domain": "address of the scale-up domain",
    "domain_ordinal": "number of the domain in the cluster",
    "server": "address of the server",
    "server_ordinal": "number of the server in the domain",
    "rack": "address of the rack",
    "rack_ordinal": "number of the rack in the cluster",
    "ordinal": "number within its container",
    "model": "its model",
    "generation": "`inf2`, `trn1`, `trn2` or `trn3`",
    "state": "`up`, `degraded`, `down` or `maintenance`; of a part of a server, the worse of its own and the server's",
    "factor": "for a degraded part, the fraction of its bandwidth that is left; null: all of it",
}
"""Columns that mean the same in most views."""
_CHIP_COLUMNS: Final = {"chip": "address of the chip", "chip_ordinal": "device number of the chip on its server"}
_COMMON_MEANINGS: Final = frozenset(
    {
        *("Its address.", "Its number in the place that contains it.", "Its state.", "Its model.", "Its generation."),
        "Fraction of its bandwidth that a degraded part carries; null unless degraded.",
    }
)
"""Descriptions of fields that say no more than `COMMON_COLUMNS`."""
_MAX_VALUES: Final = 10
"""Maximum number of values that a description lists."""
_FOLDER: Final = Path(__file__).parent
_ENTRY: Final = re.compile(r"(\w+(?:, \w+)*): (.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ViewDescription:
    """What a row of a view is.

    Attributes
    ----------
    common
        Its columns that mean the same in most views.
    columns
        The meanings of the others, by one or several names with commas between them.
    example
        A query.
    """

    row: str
    common: tuple[str, ...]
    columns: Mapping[str, str]
    example: str

    def column_names(self) -> Iterator[str]:
        """Yield the names of all columns."""
        yield from self.common
        for names in self.columns:
            yield from names.split(", ")


def describe_view(name: str) -> ViewDescription:
    """Return the description of a view."""
    thing = DECLARED_VIEWS.get(name)
    if thing is None or thing.view is None:
        return _parse_header((_FOLDER / f"{name}.sql").read_text("utf-8"))
    return _describe_thing(thing, thing.view)


def _parse_header(text: str) -> ViewDescription:
    header, _, _ = text.partition("\n\n")
    lines = header.replace("\n--   ", " ").split("\n")
    row: list[str] = []
    entries: dict[str, str] = {}
    for line in lines:
        text = line.removeprefix("-- ")
        if match := _ENTRY.fullmatch(text):
            entries[match[1]] = match[2]
        else:
            row.append(text)
    common = entries.pop("common", "")
    example = entries.pop("example")
    return ViewDescription(" ".join(row), tuple(common.split(", ")) if common else (), entries, example)


def _describe_thing(thing: Thing, view: View) -> ViewDescription:
    common: list[str] = []
    columns: dict[str, str] = {}
    for column, field in view_columns(thing, view):
        if column in COMMON_COLUMNS and (field is None or field.description in _COMMON_MEANINGS):
            common.append(column)
        else:
            columns[column] = _CHIP_COLUMNS[column] if field is None else _meaning(field)
    return ViewDescription(thing.description, tuple(common), columns, view.example)


def _meaning(field: Field) -> str:
    text = field.description.removesuffix(".")
    if not text[:2].isupper():  # no abbreviation
        text = f"{text[0].lower()}{text[1:]}"
    values = field.enumeration.meanings() if field.enumeration else ()
    if 0 < len(values) <= _MAX_VALUES:
        return f"{text}: {', '.join(f'`{value}`' for value in values)}"
    return f"{text}, separated by blanks" if field.format is ValueFormat.INTS else text
