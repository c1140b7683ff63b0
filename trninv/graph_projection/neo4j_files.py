"""Write the graph as the CSV files that ``neo4j-admin database import full`` reads."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pyarrow as pa
from pyarrow import csv
from sqlalchemy import Connection

from trninv.atomic_file import atomic_write
from trninv.errors import UnreachableError
from trninv.graph_projection.build import read_tables
from trninv.graph_projection.changing_state import ChangingState

_TYPES: Final = {"int64": ":long", "double": ":double", "bool": ":boolean", "string": ""}
"""What a header appends to a property's name, by the type of its column."""


def write_neo4j_files(connection: Connection, directory: Path) -> Iterator[tuple[Path, int]]:
    """Write a file for each label, and for each relationship between two labels; yield it with its number of rows.

    Raises
    ------
    UnreachableError
        The directory or a file in it can't be written.

    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for name, rows, pair in read_tables(connection, ChangingState.read(connection)):
            file = directory / f"{'-'.join((name, *(pair or ())))}.csv"
            with atomic_write(file) as temporary_file:
                csv.write_csv(_with_header(rows, name, pair), temporary_file)
            yield file, len(rows)
    except OSError as error:
        raise UnreachableError(f"can't write {error.filename or directory}: {error.strerror}") from None


def _with_header(rows: pa.Table, name: str, pair: tuple[str, str] | None) -> pa.Table:
    """Rename columns as the import expects: the first one or two hold keys, and the last one the label or type."""
    names = [f"{field.name}{_TYPES[str(field.type)]}" for field in rows.schema]
    if pair:
        names[:2] = [f":START_ID({pair[0]})", f":END_ID({pair[1]})"]
    else:
        names[0] = f"{rows.schema[0].name}:ID({name})"
    return rows.rename_columns(names).append_column(
        ":TYPE" if pair else ":LABEL", pa.array([name] * len(rows), pa.string())
    )


def import_options(directory: Path) -> str:
    """Return the options of ``neo4j-admin database import full`` that name all files."""
    files = sorted(directory.glob("*.csv"))
    return " ".join(f"--{'relationships' if '-' in file.stem else 'nodes'}={file.name}" for file in files)
