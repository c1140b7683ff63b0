"""Digest rows that are no events but are covered by seals: notes on incidents, and events of tokens.

For each table, a seal has the id of the last row and the SHA-256 of all rows up to it. A database that was restored
without tokens has no events of them; the digest then begins anew with the first one, whose id is after the sealed ones.
"""

import json
from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Any, Final

from sqlalchemy import Connection, Table, bindparam, func, select, text

from trninv.database.id_blocks import next_id
from trninv.database.tables import TABLES

_NOTE, _TOKEN_EVENT, _SEAL = (TABLES[name] for name in ("incident_note", "token_event", "event_seal"))
_SEALED_COLUMNS: Final = {
    _NOTE: tuple(_NOTE.c[name] for name in ("id", "incident", "written_at", "who", "source", "text")),
    _TOKEN_EVENT: tuple(_TOKEN_EVENT.c[name] for name in ("id", "token_id", "at", "who", "action", "detail")),
}
"""The columns of each table in the order in which they are hashed."""
# every change executes these statements, and building them again would take longer than running them
LAST_ROW_IDS: Final = tuple(select(func.max(table.c.id)).scalar_subquery() for table in _SEALED_COLUMNS)
"""The id of the last row of each table, as columns."""
_LAST_ROW_IDS: Final = select(*LAST_ROW_IDS)
_ROWS: Final = {
    table: select(*columns).where(table.c.id > bindparam("after"), table.c.id <= bindparam("last")).order_by(table.c.id)
    for table, columns in _SEALED_COLUMNS.items()
}
_NEWEST: Final = select(_SEAL.c.sealed_rows).order_by(_SEAL.c.id.desc()).limit(1)
_encode: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def last_row_ids(connection: Connection) -> Sequence[int | None]:
    """Return the id of the last row of each table."""
    return connection.execute(_LAST_ROW_IDS).one()


def seal_rows(connection: Connection, former: str | None, last_ids: Sequence[int | None]) -> str | None:
    """Return what a new seal covers of each table, as JSON, from that of the seal before; None if there are no rows."""
    sealed = _parse(former)
    for table, last in zip(_SEALED_COLUMNS, last_ids, strict=True):
        sealed_id, digest = sealed.get(table.name, (0, ""))
        if last is not None and last > sealed_id:
            digest = "" if _is_omitted(connection, table, sealed_id) else digest
            sealed[table.name] = last, _digest(connection, table, digest, sealed_id, last)
    return _encode(sealed) if sealed else None


def changed_rows(connection: Connection) -> Iterator[tuple[str, str]]:
    """Yield each table whose rows are not as the newest seal covers them, and what is wrong.

    Tables that the login may not read, or of which no sealed row was restored, are omitted.
    """
    for name, (last, sealed_digest) in _parse(connection.scalar(_NEWEST)).items():
        table = TABLES[name]
        if not _may_read(connection, name) or _is_omitted(connection, table, last):
            continue
        if _digest(connection, table, "", 0, last) != sealed_digest:
            yield name, f"rows up to {last} are not as they were sealed"


def next_sealed_id(connection: Connection, table: Table) -> int:
    """Return the id after the last row of a table, and after the last one that a seal covers."""
    last, _ = _parse(connection.scalar(_NEWEST)).get(table.name, (0, ""))
    return max(next_id(connection, table), last + 1)


def _parse(sealed: str | None) -> dict[str, tuple[int, str]]:
    return json.loads(sealed) if sealed else {}


def _digest(connection: Connection, table: Table, digest: str, after: int, last: int) -> str:
    """Return the digest of a table's rows up to the one with the id `last`, from the digest of those up to `after`."""
    for row in connection.execute(_ROWS[table], {"after": after, "last": last}):
        digest = next_seal(digest, encode_line(tuple(row)))
    return digest


def _is_omitted(connection: Connection, table: Table, last: int) -> bool:
    """Return whether the rows of a table up to an id are not in this database, because it is a copy without tokens."""
    query = select(table.c.id).where(table.c.id <= last).limit(1)
    return table is _TOKEN_EVENT and connection.scalar(query) is None


def _may_read(connection: Connection, table: str) -> bool:
    query = text("SELECT has_table_privilege(:name, 'SELECT')")
    return connection.dialect.name == "sqlite" or bool(connection.scalar(query, {"name": table}))


def encode_line(values: Sequence[Any]) -> bytes:
    """Return a row as one line of JSON, which is hashed."""
    return _encode(values).encode()


def next_seal(digest: str, line: bytes) -> str:
    """Return the digest of a chain after one more line."""
    return sha256(f"{digest}\n".encode() + line).hexdigest()
