"""Write graph databases, with ladybug; run as a program, apply changes to a copy of one.

The program reads a JSON object from stdin: the directory of the package, the file, and statements with their
parameters. It imports nothing of trninv, so that it starts in a tenth of a second.
"""

import json
import sys
from collections.abc import Iterable, Sequence
from typing import Any, Final

BUFFER_BYTES: Final = 512 * 2**20
"""Memory for the pages of a database that is written; a large load fails with half of it."""
_TRANSACTION_ROWS: Final = 100_000
"""Number of rows after which a transaction is committed, since its pages stay in memory until then."""
MIN_SIZE_BYTES: Final = 2**30
"""Address space for a small database; larger ones need a power of two above their size."""


def max_size(file_size: int) -> int:
    """Return the address space to reserve for a database that may double its size."""
    size = MIN_SIZE_BYTES
    while size < 2 * file_size:
        size *= 2
    return size


def load(file: str, statements: Iterable[str], tables: Iterable[tuple[str, Any, tuple[str, str] | None]]) -> None:
    """Create a database with these statements, and copy Arrow tables into its tables."""
    import ladybug  # noqa: PLC0415 # an extra

    # few transactions and checkpoints: those of each table would take most of a small graph's time
    database = ladybug.Database(file, buffer_pool_size=BUFFER_BYTES, max_db_size=2**36, auto_checkpoint=False)
    connection = ladybug.Connection(database)
    connection.execute("BEGIN TRANSACTION")
    for statement in statements:
        connection.execute(statement)
    pending = 0
    for name, rows, pair in tables:  # ladybug finds `rows` by its name
        ends = f" (from='{pair[0]}', to='{pair[1]}')" if pair else ""
        if len(rows):
            connection.execute(f"COPY {name} FROM rows{ends}")
            pending += len(rows)
        if pending > _TRANSACTION_ROWS:
            for statement in ("COMMIT", "CHECKPOINT", "BEGIN TRANSACTION"):
                connection.execute(statement)
            pending = 0
    connection.execute("COMMIT")
    _close(connection, database)


def apply(file: str, size: int, statements: Sequence[tuple[str, Sequence[dict[str, Any]]]]) -> None:
    """Run each statement with each of its parameters, in one transaction."""
    import ladybug  # noqa: PLC0415 # an extra

    database = ladybug.Database(file, buffer_pool_size=BUFFER_BYTES, max_db_size=size, auto_checkpoint=False)
    connection = ladybug.Connection(database)
    connection.execute("BEGIN TRANSACTION")
    for text, rows in statements:
        statement = connection.prepare(text, rows[0])
        for parameters in rows:
            connection.execute(statement, parameters)
    connection.execute("COMMIT")
    _close(connection, database)


def _close(connection: Any, database: Any) -> None:
    connection.execute("CHECKPOINT")
    connection.close()
    database.close()


if __name__ == "__main__":
    request = json.load(sys.stdin.buffer)
    sys.path.append(request["path"])
    apply(request["file"], request["size"], request["statements"])
