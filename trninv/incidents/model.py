"""Declare incidents as frozen values: unhealthy parts that share a root cause, and what they cost.

The command line and GraphQL generate their output from the fields.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Annotated, Final

from trninv.database.tables import NODE_KINDS
from trninv.enumeration import DescribedEnum
from trninv.inventory.state.condition import Condition
from trninv.routing.answer import AddressText, Bounds, HiddenInt, SchemaScalar
from trninv.routing.evidence import ServerInstance
from trninv.units import Bandwidth, Capacity

MAX_LISTED: Final = 100
"""The most causes, instances, findings, jobs and notes that an incident lists."""
MAX_DOMAINS: Final = 4
"""The most domains of an incident whose capability is solved."""


class IncidentRule(DescribedEnum):
    """Rule that groups the parts of an incident."""

    RACK = "RACK", "Changes within one rack, at most five minutes after the first."
    CHANGE = "CHANGE", "One change affected several parts."
    CONTAINMENT = "CONTAINMENT", "A server and its parts."
    END = "END", "A chip, switch, NIC or network node, and the links that end there."
    SINGLE = "SINGLE", "A single part."


class IncidentSeverity(DescribedEnum):
    """Severity of an incident."""

    INFO = "INFO", "All parts are in maintenance."
    LOW = "LOW", "Less than a chip's worth is lost, and no job is hit."
    MEDIUM = "MEDIUM", "At least a chip's worth is lost, or a job is hit."
    HIGH = "HIGH", "At least four chips' worth is lost, or one chip's worth and a job is hit."


_NONE: Final = Bandwidth(0)
PartKey = tuple[str, int]
"""Table (server, node or link) and id of a part."""


def part_key(kind: str, number: int) -> PartKey:
    """Return the key of a part: chips, switches, NICs and network nodes are rows of ``node``."""
    return ("node" if kind in NODE_KINDS else kind, number)


@dataclass(frozen=True, slots=True)
class Location:
    """The ids of the places that contain a part, and the event after which its cluster was seeded.

    A domain, rack or server is None if no single one contains the part.

    Events up to and including ``seeded_after`` belong to an earlier cluster with the same ids.
    """

    cluster: int
    domain: int | None = None
    rack: int | None = None
    server: int | None = None
    seeded_after: int = 0


@dataclass(frozen=True, slots=True)
class UnhealthyPart:
    """A part that is not up.

    Attributes
    ----------
    failed_itself
        Whether the part itself is unhealthy, not only its server.
    location
        The smallest places that contain all of it.
    locations
        For a link, the locations of both ends; otherwise only ``location``.
    ends
        For a link, the ids of its nodes.
    failure_event, last_event
        Numbers of the events by which it became unhealthy and got its current state; None if unknown.

    """

    kind: str
    id: int
    address: str
    condition: Condition
    failed_itself: bool
    location: Location
    locations: tuple[Location, ...]
    ends: tuple[int, ...] = ()
    failure_event: int | None = None
    last_event: int | None = None

    @property
    def key(self) -> PartKey:
        """The part's unique key."""
        return part_key(self.kind, self.id)


@dataclass(frozen=True, slots=True)
class IncidentChange:
    """Change of states that belongs to an incident."""

    event: Annotated[int, "Number of the change's first event."]
    time: Annotated[str, "Time of the change, UTC."]
    who: Annotated[str, "Author of the change."]
    why: Annotated[str, "Reason for the change."]
    source: Annotated[str | None, "Source of the change: command, api, import, drift or sql."]


@dataclass(frozen=True, slots=True)
class PartCount:
    """Number of parts of one kind in one state."""

    kind: Annotated[str, "Kind: server, chip, switch, nic, network_node or link."]
    state: Annotated[str, "State: degraded, down or maintenance."]
    count: Annotated[int, "Number of parts."]


@dataclass(frozen=True, slots=True)
class RelatedFinding:
    """Drift finding on a part of an incident."""

    id: Annotated[int, "Number of the finding."]
    rule: Annotated[str, "Rule of the finding."]
    address: Annotated[AddressText, "Address of the part."]
    observed: Annotated[str | None, "Observed value, as text."]


@dataclass(frozen=True, slots=True)
class IncidentNote:
    """A note on an incident; the declaration "incident_note" in `trninv.inventory.schema` describes the fields."""

    incident: str
    written_at: str
    who: str
    source: str
    text: str


@dataclass(frozen=True, slots=True)
class Loss:
    """What an incident takes away: chips, bandwidth of links in one direction, and parts of jobs (their names).

    ``millichips`` is the worth of what failed, without maintenance, in thousandths of a chip: the larger of its chips
    and its bandwidth, divided by the NeuronLink bandwidth of a chip of the same domain.
    """

    chips: int
    bandwidth: Bandwidth
    jobs: tuple[str, ...]
    millichips: int


@dataclass(frozen=True, kw_only=True)
class Incident:
    """Unhealthy parts with one root cause."""

    id: Annotated[str, "Number of its first change, or an address if that is unknown; stable while it lasts."]
    rule: Annotated[IncidentRule, "Rule that groups its parts."]
    severity: Annotated[IncidentSeverity, "Severity of the incident."]
    place: Annotated[
        AddressText | None, "Smallest place that contains its causes; null if they are in several clusters."
    ]
    causes: Annotated[tuple[AddressText, ...], f"Root causes, the first {MAX_LISTED}."]
    cause_count: Annotated[int, "Number of root causes."]
    parts: Annotated[tuple[PartCount, ...], "Unhealthy parts by kind and state, including causes."]
    independent_failures: Annotated[int, "Other parts that are unhealthy themselves and need a repair of their own."]
    started_at: Annotated[str | None, "Time of its first change, UTC; null if unknown."]
    who: Annotated[str | None, "Author of the first cause's state."]
    why: Annotated[str | None, "Reason for that state."]
    source: Annotated[str | None, "Source of that state: command, api, import, drift or sql."]
    last_change: Annotated[IncidentChange | None, "Latest change of its unhealthy parts."]
    instances: Annotated[tuple[ServerInstance, ...], "Instances in the servers of its causes."]
    findings: Annotated[tuple[RelatedFinding, ...], "Open drift findings on its parts."]
    truncated: Annotated[bool, f"Whether causes, instances or findings have more than the {MAX_LISTED} listed."]
    chips_lost: Annotated[int, "Chips of the incident that are down or in maintenance."] = 0
    bandwidth_lost: Annotated[
        Bandwidth,
        "Bandwidth that NeuronLinks and EFA links at its parts no longer carry, one direction; a link of two incidents "
        "counts in one of them.",
    ] = _NONE
    jobs: Annotated[
        tuple[str, ...],
        f"Jobs with chips in the incident, or at its links, switches and NICs, the first {MAX_LISTED} by name.",
    ] = ()
    job_count: Annotated[int, "Number of these jobs."] = 0
    notes: Annotated[tuple[IncidentNote, ...], f"Notes on it, oldest first, the latest {MAX_LISTED}."] = ()
    changes: Annotated[tuple[int, ...], SchemaScalar.HIDDEN]
    members: Annotated[tuple[UnhealthyPart, ...], SchemaScalar.HIDDEN]
    millichips: HiddenInt = 0

    @property
    def severity_rank(self) -> HiddenInt:
        """Rank of the severity, 0 for the worst."""
        return _rank(self.severity)

    def ids(self, *kinds: str, domain: int | None = None) -> frozenset[int]:
        """Return the ids of its parts of some kinds, in one domain or all."""
        parts = (part for part in self.members if part.kind in kinds)
        return frozenset(part.id for part in parts if domain in (None, part.location.domain))


@dataclass(frozen=True, kw_only=True, slots=True)
class ClosedIncident:
    """An incident of which every part is up again."""

    id: Annotated[str, "Number of its first change."]
    rule: Annotated[IncidentRule, "Rule that groups its parts."]
    severity: Annotated[IncidentSeverity, "Severity, with each part in the worst state it had."]
    place: Annotated[
        AddressText | None, "Smallest place that contains its causes; null if they are in several clusters."
    ]
    causes: Annotated[tuple[AddressText, ...], f"Root causes, the first {MAX_LISTED}."]
    cause_count: Annotated[int, "Number of root causes."]
    parts: Annotated[tuple[PartCount, ...], "Parts by kind and worst state, including causes."]
    started_at: Annotated[str, "Time of its first change, UTC."]
    who: Annotated[str, "Author of the first cause's failure."]
    why: Annotated[str, "Reason for that failure."]
    source: Annotated[str | None, "Source of that failure: command, api, import, drift or sql."]
    closed_at: Annotated[str, "Time of the change after which all of its parts were up, UTC."]
    closed_by: Annotated[str, "Author of that change."]
    closed_why: Annotated[str, "Reason for that change."]
    chips_lost: Annotated[int, "Chips of the incident that were down or in maintenance."]
    bandwidth_lost: Annotated[
        Bandwidth, "Bandwidth that NeuronLinks and EFA links at its parts did not carry, one direction."
    ]
    jobs: Annotated[
        tuple[str, ...],
        f"Jobs that had chips in the incident, or at its links, switches and NICs, the first {MAX_LISTED} by name.",
    ]
    job_count: Annotated[int, "Number of these jobs."]
    instances: Annotated[
        tuple[ServerInstance, ...], f"Instances in the servers of its causes when it began, the first {MAX_LISTED}."
    ]
    notes: Annotated[tuple[IncidentNote, ...], f"Notes on it, oldest first, the latest {MAX_LISTED}."] = ()
    closing_event: HiddenInt

    @property
    def severity_rank(self) -> HiddenInt:
        """Rank of the severity, 0 for the worst."""
        return _rank(self.severity)


@dataclass(frozen=True, slots=True)
class AffectedJob:
    """Job with chips in an incident."""

    name: Annotated[str, "Name of the job."]
    system: Annotated[str, "The system that runs it; trninv if it was allocated here."]
    external_id: Annotated[str, "Its id in that system."]
    chips: Annotated[int, "All chips allocated to the job."]
    affected_chips: Annotated[int, "Chips of the job in the incident."]
    who: Annotated[str, "Who runs it."]


@dataclass(frozen=True, slots=True)
class AffectedReservation:
    """Reservation with chips in an incident."""

    name: Annotated[str, "Name of the reservation."]
    kind: Annotated[str, "What it is for: job or maintenance."]
    from_at: Annotated[str, "When it begins, UTC."]
    until_at: Annotated[str, "When it ends, UTC."]
    has_begun: Annotated[bool, "Whether it has begun."]
    chips: Annotated[int, "All chips of the reservation."]
    affected_chips: Annotated[int, "Chips of the reservation in the incident."]


@dataclass(frozen=True, slots=True)
class DomainImpact:
    """Capability of a domain with all parts of an incident up, and now."""

    domain: Annotated[AddressText, "Address of the domain."]
    chips_before: Annotated[int, "Usable chips with all parts up."]
    chips_now: Annotated[int, "Usable chips now."]
    idle_links_before: Annotated[int, "Idle links, as `capability` counts them, with all parts up."]
    idle_links_now: Annotated[int, "Idle links now."]
    pool_before: Annotated[Capacity, "HBM of the largest connected set of chips with all parts up."]
    pool_now: Annotated[Capacity, "HBM of the largest connected set of chips now."]
    bisection_before: Annotated[Bounds, "Bisection bandwidth with all parts up, one direction."]
    bisection_now: Annotated[Bounds, "Bisection bandwidth now, one direction."]
    incomparable: Annotated[str | None, "Why the bisections are not comparable; null if they are."]
    all_gather_before: Annotated[Bounds, "Limit of the all-gather bus bandwidth with all parts up."]
    all_gather_now: Annotated[Bounds, "Limit of the all-gather bus bandwidth now."]


@dataclass(frozen=True, slots=True)
class Impact:
    """Cost of an incident."""

    chips: Annotated[int, "Chips of the incident that are down or in maintenance."]
    cores: Annotated[int, "NeuronCores of these chips."]
    memory: Annotated[Capacity, "HBM of these chips."]
    jobs: Annotated[tuple[AffectedJob, ...], f"Jobs with chips in the incident, the first {MAX_LISTED}."]
    job_count: Annotated[int, "Number of these jobs."]
    reservations: Annotated[
        tuple[AffectedReservation, ...],
        f"Reservations of chips in the incident that are not over, the first {MAX_LISTED} by their start.",
    ]
    domains: Annotated[tuple[DomainImpact, ...], f"Capability of its domains, the first {MAX_DOMAINS}."]
    domain_count: Annotated[int, "Number of domains with parts of the incident."]
    truncated: Annotated[bool, "Whether jobs or domains are omitted."]


def _rank(severity: IncidentSeverity) -> int:
    return len(IncidentSeverity) - 1 - list(IncidentSeverity).index(severity)


_CHIP: Final = 1_000
"""A chip's worth of loss."""


def classify_severity(parts: Collection[UnhealthyPart], loss: Loss) -> IncidentSeverity:
    """Return the severity of an incident: never lower if more chips or bandwidth are lost, or more jobs hit."""
    if all(part.condition.state == "maintenance" for part in parts):
        return IncidentSeverity.INFO
    if loss.millichips >= 4 * _CHIP or (loss.millichips >= _CHIP and loss.jobs):
        return IncidentSeverity.HIGH
    return IncidentSeverity.MEDIUM if loss.millichips >= _CHIP or loss.jobs else IncidentSeverity.LOW
