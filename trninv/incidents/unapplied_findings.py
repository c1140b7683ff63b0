"""List the open findings of drift that no incident shows, because their parts are up.

Only `trninv drift --apply` sets failed parts down. Until then, a part that machines or managers report as failed is
up, so whoever says that everything is up also says how many such findings there are.
"""

from typing import Final

from sqlalchemy import Connection, select

from trninv.database.as_of import is_open_then
from trninv.database.finding_rules import SEVERITIES, failed_parts
from trninv.database.tables import TABLES
from trninv.incidents.failures import load_unhealthy_parts
from trninv.incidents.model import RelatedFinding
from trninv.inventory.address.lookup import resolve
from trninv.inventory.address.machine_names import split_link
from trninv.inventory.address.rows_in import rows_in

_FINDING: Final = TABLES["finding"]


def list_unapplied_findings(connection: Connection, scope: str | None = None) -> list[RelatedFinding]:
    """Return the open findings of the highest severity on parts that are up, of a place or of all, oldest first.

    Raises
    ------
    AddressError, UnknownAddressError
        The scope is not an address, or no place has it.

    """
    query = select(_FINDING.c.id, _FINDING.c.rule, _FINDING.c.address, _FINDING.c.observed).where(
        is_open_then(connection, _FINDING.c.first_seen, _FINDING.c.cleared_at),
        _FINDING.c.severity == SEVERITIES[-1],
        _FINDING.c.address.is_not(None),
    )
    if scope is not None:
        query = query.where(rows_in(resolve(connection, scope), "finding"))
    rows = connection.execute(query.order_by(_FINDING.c.id)).all()
    unhealthy = list(load_unhealthy_parts(connection)) if rows else []
    addresses = {part.address for part in unhealthy}
    failed = {frozenset(split_link(part.address)) for part in unhealthy if not part.condition.carries}
    return [
        finding
        for finding in (RelatedFinding(*row) for row in rows)
        if finding.address not in addresses and not _is_applied(finding, failed)
    ]


def _is_applied(finding: RelatedFinding, failed: set[frozenset[str]]) -> bool:
    """Return whether all parts that a finding reports as failed are; a link is the set of its ends."""
    parts = failed_parts(finding.rule, finding.address, finding.observed)
    return bool(parts) and all(frozenset(split_link(part)) in failed for part in parts)
