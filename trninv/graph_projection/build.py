"""Build a projection from the tables, as a process of its own: ``python -m trninv.graph_projection.build``.

It takes up to 1.5 GB of memory, which the system gets back, and may take longer than the request that needs it.
"""

import gc
import json
import sys
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
from sqlalchemy import Connection, Engine

from trninv.database.as_of import OmittedCluster, engine_as_of
from trninv.database.engine import read_transaction, temporary_engine
from trninv.errors import TrninvError
from trninv.graph_projection import graph_file
from trninv.graph_projection.arrow_tables import arrow_table
from trninv.graph_projection.changing_state import ChangingState
from trninv.graph_projection.link_columns import read_links
from trninv.graph_projection.projection_store import ProjectionName, lock, publish
from trninv.graph_projection.schema import create_statements
from trninv.graph_projection.structure import StructureReader


def build(engine: Engine, directory: Path) -> None:
    """Build and publish the projection of the state that an engine reads, unless another process did."""
    with read_transaction(engine) as connection:
        state = ChangingState.read(connection)
        name = ProjectionName.from_state(directory, connection, state)
        with lock(name):
            if not name.file.exists():
                with publish(name, state) as temporary:
                    graph_file.load(str(temporary), create_statements(), read_tables(connection, state))


def read_tables(connection: Connection, state: ChangingState) -> Iterator[tuple[str, Any, tuple[str, str] | None]]:
    """Yield labels and relationships with their rows and, for relationships, the labels that they join."""
    reader = StructureReader(connection, state)
    for columns in reader.read():
        yield columns.table, arrow_table(*columns), columns.pair
    for columns in read_links(connection, state, reader.nodes):
        yield columns.table, arrow_table(*columns), columns.pair


def _main() -> None:
    gc.disable()  # millions of rows, none of them in a cycle: it would take half of the time
    pa.set_memory_pool(pa.system_memory_pool())  # which returns memory between the tables
    request = json.load(sys.stdin.buffer)
    with temporary_engine(request["url"]) as engine:
        if request["event"] is not None:
            omitted = tuple(OmittedCluster(**_with_tuples(cluster)) for cluster in request["omitted"])
            engine = engine_as_of(engine, request["event"], datetime.fromisoformat(request["time"]), omitted)  # noqa: PLW2901
        build(engine, Path(request["directory"]))


def _with_tuples(cluster: dict[str, Any]) -> dict[str, Any]:
    return cluster | {"ids": tuple(map(tuple, cluster["ids"]))}


if __name__ == "__main__":
    try:
        _main()
    except (TrninvError, RuntimeError, OSError) as error:  # ladybug raises RuntimeError
        sys.exit(str(error))
