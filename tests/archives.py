"""A short history of January 2026, to be archived."""

from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import Engine, text

from trninv.database.engine import write_transaction
from trninv.database.tables import TABLES
from trninv.history.archive.archive_store import open_for_writing
from trninv.history.archive.archive_writer import ArchiveResult, archive_history
from trninv.inventory.state import hash_chain

KNOWN = "2026-01-01T06:00:00.000000+00:00"


def happen(engine: Engine, at: str, statement: str, *, sealed: bool = True) -> None:
    """A change at a time."""
    with write_transaction(engine) as connection:
        said = {"id": 1, "at": at, "who": "tester", "why": "a test", "source": "command"}
        connection.execute(TABLES["_change"].insert().values(**said))
        connection.execute(text(statement))
        connection.execute(TABLES["_change"].delete())
        if sealed:
            hash_chain.seal_events(connection)


def state(state: str, key: int, table: str = "node") -> str:
    return f"UPDATE {table} SET state = '{state}' WHERE id = {key}"


def at(day: int, hour: int) -> str:
    return f"2026-01-{day:02}T{hour:02}:00:00.000000+00:00"


def live(engine: Engine) -> None:
    """Six events on three days of January 2026, then one of today; an observation of the first day."""
    with write_transaction(engine) as connection:
        connection.execute(text(f"UPDATE cluster SET known_since = '{KNOWN}'"))
        times = {"at": at(1, 7), "taken_at": at(1, 6), "seen_at": at(1, 6)}
        of = {
            "id": 1,
            "source": "ec2",
            "name": "a.json",
            "sha256": "0" * 64,
            "is_whole": True,
            "servers": 1,
            "chips": 1,
        }
        connection.execute(TABLES["observation"].insert().values(**times, **of))
        server = {"id": 1, "observation_id": 1, "instance": "i-a", "is_partial": False}
        connection.execute(TABLES["observed_server"].insert().values(**server))
        connection.execute(TABLES["observed_chip"].insert().values(id=1, observed_server_id=1, ordinal=0))
    happen(engine, at(1, 8), state("down", 1))
    happen(engine, at(1, 20), state("up", 1))
    happen(engine, at(2, 1), "UPDATE node SET state = 'down' WHERE id IN (2, 3)")
    happen(engine, at(4, 0), state("up", 2))
    happen(engine, at(4, 1), state("maintenance", 1, "link"))
    happen(engine, datetime.now(UTC).isoformat(timespec="microseconds"), state("up", 3))


def run(engine: Engine, directory: Path | str, before: str = at(6, 0)) -> ArchiveResult:
    """Archive what there is before a time."""
    with open_for_writing(directory) as store:
        return archive_history(engine, store, before)
