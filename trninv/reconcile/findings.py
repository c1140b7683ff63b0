"""List recorded findings."""

from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, case, or_, select

from trninv.database.finding_rules import SEVERITIES
from trninv.database.tables import TABLES
from trninv.inventory.address.expressions import address_expression
from trninv.inventory.address.lookup import resolve_place

_FINDING, _COMPARISON = TABLES["finding"], TABLES["comparison"]


@dataclass(frozen=True, slots=True)
class Finding:
    """A recorded difference between observation and design.

    Attributes
    ----------
    address, instance
        Where, and of which instance or host; None if there is none.
    evidence
        Ids of the observations that show it.
    first_seen, last_seen, cleared_at
        Times in UTC; ``cleared_at`` is None while the finding is open.

    """

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
    """Return when observations were last compared with the design (UTC), or None."""
    time: str | None = connection.scalar(select(_COMPARISON.c.at))
    return time


def list_findings(connection: Connection, scope: str | None = None, include_cleared: bool = False) -> list[Finding]:
    """List the recorded findings, most severe first: all, or at and below an address.

    Parameters
    ----------
    include_cleared
        Whether to include cleared findings.

    Raises
    ------
    AddressError, UnknownAddressError

    """
    rank = case(*((_FINDING.c.severity == severity, number) for number, severity in enumerate(SEVERITIES)))
    query = select(_FINDING).order_by(rank.desc(), _FINDING.c.id)
    if not include_cleared:
        query = query.where(_FINDING.c.cleared_at.is_(None))
    if scope is not None:
        query = query.where(_is_in_scope(connection, scope))
    return [
        Finding(**{**row, "evidence": tuple(map(int, (row["evidence"] or "").split()))})
        for row in connection.execute(query).mappings()
    ]


def _is_in_scope(connection: Connection, scope: str) -> ColumnElement[bool]:
    place = resolve_place(connection, scope)
    addresses = [place.address]
    if place.level == "rack":
        server, domain, cluster = (TABLES[name] for name in ("server", "domain", "cluster"))
        joined = server.join(domain, domain.c.id == server.c.domain_id).join(
            cluster, cluster.c.id == domain.c.cluster_id
        )
        servers = select(address_expression("server")).select_from(joined).where(server.c.rack_id == place.id)
        addresses += connection.scalars(servers)
    return or_(
        _FINDING.c.address.in_(addresses),
        *(
            _FINDING.c.address.startswith(f"{address}{end}", autoescape=True)
            for address in addresses
            for end in ("/", "--")
        ),
    )
