"""What an incident is: frozen values, whose fields the command line and GraphQL show as they are declared here."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Annotated, Final

from trninv.database.tables import NODE_KINDS
from trninv.enumeration import DescribedEnum
from trninv.inventory.state.condition import Condition
from trninv.routing.answer import AddressText, Bounds, SchemaScalar
from trninv.routing.evidence import ServerInstance
from trninv.units import Capacity

MAX_LISTED: Final = 100
"""Causes, instances, findings and jobs of an incident that are named."""
MAX_DOMAINS: Final = 4
"""Domains of an incident that are solved before and after."""


class IncidentRule(DescribedEnum):
    """Why the parts of an incident are one."""

    RACK = "RACK", "Changes within one rack, none more than five minutes after the first of them."
    CHANGE = "CHANGE", "One change took out several things."
    CONTAINMENT = "CONTAINMENT", "A server, and what is in it."
    END = "END", "A chip, switch, NIC or network node, and links that end there."
    SINGLE = "SINGLE", "Nothing else belongs to it."


class IncidentSeverity(DescribedEnum):
    """How bad an incident is."""

    INFO = "INFO", "All of it was taken out of service."
    MEDIUM = "MEDIUM", "A NIC or a link is down, or something is degraded."
    HIGH = "HIGH", "A server, chip, switch or network node is down."


PartKey = tuple[str, int]
"""Table and id of a part."""


def part_key(kind: str, number: int) -> PartKey:
    """Return the key of a part of a kind."""
    return ("node" if kind in NODE_KINDS else kind, number)


@dataclass(frozen=True, slots=True)
class Location:
    """Where a part is: ids of what holds it, None where nothing of that level does; and since which event it is known.

    Events up to ``known_from`` are of what was there before.
    """

    cluster: int
    domain: int | None = None
    rack: int | None = None
    server: int | None = None
    history_from_event: int = 0


@dataclass(frozen=True, slots=True)
class UnhealthyPart:
    """Something that is not up.

    Attributes
    ----------
    failed_itself
        Whether it is not up by itself, and not only with its server.
    location, locations
        What holds it, and where it is: of a link, where either end is.
    ends
        Of a link, the ids of its nodes.
    failure_event, last_event
        Numbers of the events by which it was not up any more, and by which it is as it is; None where none is known.

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
        """What tells it from all others."""
        return part_key(self.kind, self.id)


@dataclass(frozen=True, slots=True)
class IncidentChange:
    """A change of states that is part of an incident."""

    event: Annotated[int, "Number of its first event."]
    time: Annotated[str, "When, UTC."]
    who: Annotated[str, "Who made it."]
    why: Annotated[str, "The reason given."]
    source: Annotated[str | None, "Where it came from: command, api, import, drift or sql."]


@dataclass(frozen=True, slots=True)
class PartCount:
    """How many parts of a kind have a state."""

    kind: Annotated[str, "server, chip, switch, nic, network_node or link."]
    state: Annotated[str, "degraded, down or maintenance."]
    count: Annotated[int, "How many."]


@dataclass(frozen=True, slots=True)
class RelatedFinding:
    """What drift found of a part of an incident."""

    id: Annotated[int, "The finding's number."]
    rule: Annotated[str, "The rule that found it."]
    address: Annotated[AddressText, "Of what."]
    observed: Annotated[str | None, "What was seen, for people."]


@dataclass(frozen=True, kw_only=True)
class Incident:
    """Things that are not up for one reason."""

    id: Annotated[str, "The number of its first change, or an address where none is known; stays while it lasts."]
    rule: Annotated[IncidentRule, "Why its parts are one."]
    severity: Annotated[IncidentSeverity, "How bad it is."]
    place: Annotated[AddressText | None, "The smallest place that holds its causes; null where no cluster does."]
    causes: Annotated[tuple[AddressText, ...], f"What brought it about, the first {MAX_LISTED}."]
    cause_count: Annotated[int, "How many causes."]
    parts: Annotated[tuple[PartCount, ...], "What is not up, causes too, by kind and state."]
    independent_failures: Annotated[
        int, "Parts beside the causes that are not up by themselves: to be brought back on their own."
    ]
    started_at: Annotated[str | None, "When its first change was made, UTC; null where that is not known."]
    who: Annotated[str | None, "Who gave the first of its causes its state."]
    why: Annotated[str | None, "The reason given for that."]
    source: Annotated[str | None, "Where that came from: command, api, import, drift or sql."]
    last_change: Annotated[IncidentChange | None, "The last change of what is not up."]
    instances: Annotated[tuple[ServerInstance, ...], "Instances and hosts in the servers of its causes."]
    findings: Annotated[tuple[RelatedFinding, ...], "Findings of drift that are open on its parts."]
    truncated: Annotated[bool, f"Whether causes, standing or drift list the first {MAX_LISTED} of more."]
    changes: Annotated[tuple[int, ...], SchemaScalar.HIDDEN]
    members: Annotated[tuple[UnhealthyPart, ...], SchemaScalar.HIDDEN]

    def ids(self, *kinds: str, domain: int | None = None) -> frozenset[int]:
        """Ids of its parts of some kinds, of a domain or of all."""
        parts = (part for part in self.members if part.kind in kinds)
        return frozenset(part.id for part in parts if domain in (None, part.location.domain))


@dataclass(frozen=True, slots=True)
class AffectedJob:
    """A job that holds chips of an incident."""

    name: Annotated[str, "Its name."]
    system: Annotated[str, "What runs it; trninv where it was held here."]
    external_id: Annotated[str, "What its system calls it."]
    chips: Annotated[int, "Chips that it holds in all."]
    affected_chips: Annotated[int, "Those that are in the incident."]


@dataclass(frozen=True, slots=True)
class DomainImpact:
    """What a domain can do with all parts of an incident up, and what it can do now."""

    domain: Annotated[AddressText, "The domain."]
    chips_before: Annotated[int, "Chips that would carry traffic."]
    chips_now: Annotated[int, "Chips that do."]
    idle_links_before: Annotated[int, "Links of it, those of its NICs too, that would carry nothing."]
    idle_links_now: Annotated[int, "Those that carry nothing."]
    pool_before: Annotated[Capacity, "HBM of the most chips that would be joined."]
    pool_now: Annotated[Capacity, "HBM of the most chips that are joined."]
    bisection_before: Annotated[Bounds, "Bisection bandwidth with all up, one direction; bounds where they differ."]
    bisection_now: Annotated[Bounds, "Bisection bandwidth as it is, one direction."]
    incomparable: Annotated[str | None, "Why the bisections do not compare; null where both halve as many chips."]
    all_gather_before: Annotated[Bounds, "Bus bandwidth of an all-gather at most, with all up."]
    all_gather_now: Annotated[Bounds, "Bus bandwidth of an all-gather at most, as it is."]


@dataclass(frozen=True, slots=True)
class Impact:
    """What an incident costs."""

    chips: Annotated[int, "Chips of it that carry nothing."]
    cores: Annotated[int, "Their NeuronCores."]
    memory: Annotated[Capacity, "Their HBM."]
    jobs: Annotated[tuple[AffectedJob, ...], f"Jobs that hold chips of it, the first {MAX_LISTED}."]
    job_count: Annotated[int, "How many jobs."]
    domains: Annotated[tuple[DomainImpact, ...], f"What its domains can do, of the first {MAX_DOMAINS}."]
    domain_count: Annotated[int, "How many domains have parts of it."]
    truncated: Annotated[bool, "Whether jobs or domains were left out."]


def classify_severity(parts: Collection[UnhealthyPart]) -> IncidentSeverity:
    """How bad it is that these are not up."""
    down = {part.kind for part in parts if part.condition.state == "down"}
    if down - {"nic", "link"}:
        return IncidentSeverity.HIGH
    is_wrong = down or any(part.condition.state == "degraded" for part in parts)
    return IncidentSeverity.MEDIUM if is_wrong else IncidentSeverity.INFO
