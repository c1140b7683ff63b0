"""List recorded findings: the disagreements between observation and design that `drift` recorded."""

from dataclasses import dataclass

from sqlalchemy import Connection, select

from trninv.database.tables import TABLES
from trninv.inventory.address.lookup import resolve
from trninv.inventory.schema.listing import select_things
from trninv.inventory.schema.things import THINGS

_COMPARISON = TABLES["comparison"]


@dataclass(frozen=True, slots=True)
class Finding:
    """A recorded finding; ``THINGS["finding"]`` describes the fields."""

    id: int
    rule: str
    severity: str
    address: str | None
    instance: str | None
    expected: str | None
    observed: str | None
    evidence: tuple[int, ...]
    first_seen: str
    last_seen: str
    cleared_at: str | None


def last_comparison_time(connection: Connection) -> str | None:
    """Return when observations were last compared with the design (UTC), or None if they never were."""
    time: str | None = connection.scalar(select(_COMPARISON.c.at))
    return time


def list_findings(connection: Connection, scope: str | None = None, include_cleared: bool = False) -> list[Finding]:
    """List the recorded findings, most severe first: all, or those at and below an address.

    Parameters
    ----------
    include_cleared
        Whether to include cleared findings.

    Raises
    ------
    AddressError, UnknownAddressError
        The scope is not an address, or no place has it.

    """
    place = None if scope is None else resolve(connection, scope)
    rows = connection.execute(select_things(THINGS["finding"], place, everything=include_cleared)).mappings()
    return [Finding(**{**row, "evidence": tuple(map(int, row["evidence"].split()))}) for row in rows]
