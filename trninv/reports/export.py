"""Every table and view as a file for other programs, and the schema as a property graph.

Rows go from the database to the file in pieces, so any fleet fits any memory. A file gets its name once it is complete.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, Self

from sqlalchemy import Boolean, Engine, Integer

from trninv.errors import NotReachableError
from trninv.files import whole
from trninv.inventory.schema import NODE_KINDS, TABLES
from trninv.reports.guard import checked
from trninv.reports.output import Kind, is_fraction, lines, parquet
from trninv.reports.pieces import written
from trninv.reports.reader import Stream, stream
from trninv.reports.views import READABLE, VIEWS

Progress = Callable[[str, int, int], None]

TABLES_AND_VIEWS = (*sorted(READABLE - set(VIEWS)), *VIEWS)
_NO_LIMIT = 24 * 3600.0


def export(engine: Engine, directory: Path, style: str, progress: Progress | None = None) -> Iterator[tuple[str, int]]:
    """Write each table and view to DIRECTORY/NAME.FORMAT; yields each name and its number of rows once written.

    Raises
    ------
    NotReachableError
        The directory can't be written.

    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with whole(directory / "property_graph.sql") as part:
            part.write_text(property_graph(), encoding="utf-8")
        for at, name in enumerate(TABLES_AND_VIEWS):
            if progress:
                progress(name, at, len(TABLES_AND_VIEWS))
            yield name, _write(engine, name, directory / f"{name}.{style}", style)
    except OSError as error:
        raise NotReachableError(f"can't write {error.filename or directory}: {error.strerror}") from None


def _write(engine: Engine, name: str, file: Path, style: str) -> int:
    query = checked(f"SELECT * FROM {name}", engine.dialect.name)  # noqa: S608 # a name of ours
    with whole(file) as part:
        if style == "parquet":
            with stream(engine, query, seconds=_NO_LIMIT) as found:
                return parquet(found, [kind_of(name, column) for column in found.columns], part)
        if style == "ndjson":
            with written(engine, query, style, seconds=_NO_LIMIT) as pieces, part.open("wb") as out:
                return sum(_added(out, piece) for piece in pieces)
        with stream(engine, query, seconds=_NO_LIMIT) as found, part.open("wb") as out:
            rows = _Counted(found.rows)
            out.writelines(lines(Stream(found.columns, rows), style))
            return rows.number


def _added(out: BinaryIO, piece: bytes) -> int:
    """The rows of a piece of NDJSON, once it is written."""
    out.write(piece)
    return piece.count(b"\n")


def kind_of(name: str, column: str) -> Kind:
    """Type of a table's column, or of a view's by its name, because a view's first rows may be null there."""
    if name in TABLES:
        of = TABLES[name].c[column].type
        return bool if isinstance(of, Boolean) else int if isinstance(of, Integer) else str
    if is_fraction(column):
        return float
    return int if column in _WHOLE or column.endswith(_WHOLE_ENDS) else str


_WHOLE = frozenset(
    {"ordinal", "domains", "servers", "chips", "cores", "cables", "lanes", "tray", "vcpus", "facts", "exact", "tier"}
    | {"event", "batch"}
)
_WHOLE_ENDS = ("_ordinal", "_gib", "_exact", "_units", "_bytes_per_s")


class _Counted:
    """Rows, and how many of them have been consumed."""

    def __init__(self, rows: Iterator[tuple[Any, ...]]) -> None:
        self._rows, self.number = rows, 0

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> tuple[Any, ...]:
        row = next(self._rows)
        self.number += 1
        return row


def property_graph() -> str:
    """CREATE PROPERTY GRAPH (SQL/PGQ, ISO/IEC 9075-16:2023) over the tables: nodes by kind, links, containment."""
    vertices = ["node KEY (id) LABEL node PROPERTIES (id, kind, cluster_id, domain_id, state, factor_ppm)"]
    for kind in NODE_KINDS:
        columns = ", ".join(column.name for column in TABLES[kind].columns)
        vertices.append(f"{kind} KEY (id) LABEL {kind} PROPERTIES ({columns})")
    for name in ("cluster", "domain", "rack", "server", "core"):
        columns = ", ".join(column.name for column in TABLES[name].columns)
        vertices.append(f"{name} KEY (id) LABEL {name} PROPERTIES ({columns})")
    ends = "SOURCE KEY (a_id) REFERENCES node (id) DESTINATION KEY (b_id) REFERENCES node (id)"
    columns = "id, bandwidth_bytes_per_s, lanes, cables, technology, scope, state, factor_ppm"
    edges = [f"link KEY (id) {ends}\n        LABEL link PROPERTIES ({columns})"]
    for table, column, of in _CONTAINED:
        edges.append(
            f"{table} AS {table}_in_{of} KEY (id) SOURCE KEY (id) REFERENCES {table} (id)\n"
            f"        DESTINATION KEY ({column}) REFERENCES {of} (id) LABEL in_{of} NO PROPERTIES"
        )
    body = ",\n    ".join(vertices), ",\n    ".join(edges)
    return f"CREATE PROPERTY GRAPH fleet\nVERTEX TABLES (\n    {body[0]}\n)\nEDGE TABLES (\n    {body[1]}\n);\n"


_CONTAINED = [
    (table.name, column.name, reference.column.table.name)
    for table in TABLES.values()
    for column in table.columns
    for reference in column.foreign_keys
    if table.name in ("core", "chip", "nic", "server", "rack", "domain")
    and reference.column.table.name in ("cluster", "domain", "rack", "server", "chip")
]
