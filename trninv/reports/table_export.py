"""Export the tables and views that users may read to files, with the schema as a property graph, for `trninv export`.

Rows are streamed, so memory does not grow with the fleet. A file gets its name only once it is complete.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, Self

from sqlalchemy import Boolean, Integer

from trninv.atomic_file import atomic_write
from trninv.database.query_result import RowStream
from trninv.database.snapshot import SharedSnapshot
from trninv.database.tables import NODE_KINDS, TABLES
from trninv.deadline import Progress
from trninv.errors import UnreachableError
from trninv.reports.query_runner import stream_query
from trninv.reports.row_formats import ColumnType, encode_lines, is_fraction, stream_rows, write_parquet
from trninv.reports.views import READABLE, VIEWS

TABLES_AND_VIEWS = (*sorted(READABLE - set(VIEWS)), *VIEWS)
_TIME_LIMIT_SECONDS = 24 * 3600.0


def export_tables(
    snapshot: SharedSnapshot, directory: Path, file_format: str, progress: Progress | None = None
) -> Iterator[tuple[str, int]]:
    """Write each table and view to DIRECTORY/NAME.FORMAT; yield its name and number of rows once it is written.

    Before them, DIRECTORY/property_graph.sql is written.

    Raises
    ------
    UnreachableError
        The directory or a file in it can't be written.

    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with atomic_write(directory / "property_graph.sql") as temporary_file:
            temporary_file.write_text(property_graph_sql(), encoding="utf-8")
        for index, name in enumerate(TABLES_AND_VIEWS):
            if progress:
                progress(name, index, len(TABLES_AND_VIEWS))
            yield name, _write_table(snapshot, name, directory / f"{name}.{file_format}", file_format)
    except OSError as error:
        raise UnreachableError(f"can't write {error.filename or directory}: {error.strerror}") from None


def _write_table(snapshot: SharedSnapshot, name: str, file: Path, file_format: str) -> int:
    from trninv.reports.query_compiler import compile_query  # noqa: PLC0415 # takes 8 MB, and the service imports this file

    query = compile_query(f"SELECT * FROM {name}", snapshot.engine.dialect.name)  # noqa: S608 # a constant name
    with atomic_write(file) as temporary_file:
        if file_format == "parquet":
            with stream_query(snapshot, query, seconds=_TIME_LIMIT_SECONDS) as row_stream:
                types = [column_type(name, column) for column in row_stream.columns]
                return write_parquet(row_stream, types, temporary_file)
        if file_format == "ndjson":
            with (
                stream_rows(snapshot, query, file_format, seconds=_TIME_LIMIT_SECONDS) as pieces,
                temporary_file.open("wb") as out,
            ):
                return sum(_write_piece(out, piece) for piece in pieces)
        with stream_query(snapshot, query, seconds=_TIME_LIMIT_SECONDS) as row_stream, temporary_file.open("wb") as out:
            rows = _CountingIterator(row_stream.rows)
            out.writelines(encode_lines(RowStream(row_stream.columns, rows), file_format))
            return rows.count


def _write_piece(out: BinaryIO, piece: bytes) -> int:
    """Write a piece of NDJSON and return its number of rows."""
    out.write(piece)
    return piece.count(b"\n")


def column_type(table: str, column: str) -> ColumnType:
    """Return the type of a table's column, or of a view's column by its name, because a view declares no types."""
    if table in TABLES:
        sql_type = TABLES[table].c[column].type
        return bool if isinstance(sql_type, Boolean) else int if isinstance(sql_type, Integer) else str
    if is_fraction(column):
        return float
    return int if column in _INTEGER_COLUMNS or column.endswith(_INTEGER_SUFFIXES) else str


_INTEGER_COLUMNS = frozenset(
    {"ordinal", "domains", "servers", "chips", "cores", "cables", "lanes", "tray", "vcpus", "facts", "exact", "tier"}
    | {"event", "batch"}
)
"""Columns of views that hold whole numbers, besides those whose names end with one of `_INTEGER_SUFFIXES`."""
_INTEGER_SUFFIXES = ("_ordinal", "_gib", "_exact", "_units", "_bytes_per_s")


class _CountingIterator:
    """An iterator over rows that counts them."""

    def __init__(self, rows: Iterator[tuple[Any, ...]]) -> None:
        self._rows, self.count = rows, 0

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> tuple[Any, ...]:
        row = next(self._rows)
        self.count += 1
        return row


def property_graph_sql() -> str:
    """Return CREATE PROPERTY GRAPH (SQL/PGQ, ISO/IEC 9075-16:2023): vertices by kind, links and containment."""
    vertices = ["node KEY (id) LABEL node PROPERTIES (id, kind, cluster_id, domain_id, state, factor_ppm)"]
    for kind in NODE_KINDS:
        columns = ", ".join(column.name for column in TABLES[kind].columns)
        vertices.append(f"{kind} KEY (id) LABEL {kind} PROPERTIES ({columns})")
    for name in ("cluster", "domain", "rack", "server", "core"):
        columns = ", ".join(column.name for column in TABLES[name].columns)
        vertices.append(f"{name} KEY (id) LABEL {name} PROPERTIES ({columns})")
    endpoints = "SOURCE KEY (a_id) REFERENCES node (id) DESTINATION KEY (b_id) REFERENCES node (id)"
    columns = "id, bandwidth_bytes_per_s, lanes, cables, technology, scope, state, factor_ppm"
    edges = [f"link KEY (id) {endpoints}\n        LABEL link PROPERTIES ({columns})"]
    for table, column, container in _CONTAINMENT:
        edges.append(
            f"{table} AS {table}_in_{container} KEY (id) SOURCE KEY (id) REFERENCES {table} (id)\n"
            f"        DESTINATION KEY ({column}) REFERENCES {container} (id) LABEL in_{container} NO PROPERTIES"
        )
    vertex_list, edge_list = ",\n    ".join(vertices), ",\n    ".join(edges)
    return f"CREATE PROPERTY GRAPH fleet\nVERTEX TABLES (\n    {vertex_list}\n)\nEDGE TABLES (\n    {edge_list}\n);\n"


_CONTAINMENT = [
    (table.name, column.name, reference.column.table.name)
    for table in TABLES.values()
    for column in table.columns
    for reference in column.foreign_keys
    if table.name in ("core", "chip", "nic", "server", "rack", "domain")
    and reference.column.table.name in ("cluster", "domain", "rack", "server", "chip")
]
"""For each foreign key to a table that contains another: the contained table, the column, and the containing table."""
