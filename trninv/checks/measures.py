"""The measures of checks, in the order of the reference page."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Annotated, Any, Final

from trninv.checks.measure import AT_LEAST, AT_MOST, Age, Measure, Reading, measure
from trninv.database.as_of import current_time
from trninv.database.finding_rules import SEVERITIES, SEVERITY_MEANINGS
from trninv.incidents.model import Incident, IncidentSeverity
from trninv.inventory.parameter import Argument, FreeText
from trninv.placement import questions as placement_questions
from trninv.placement.placement_fleet import Fleet
from trninv.reconcile.findings import list_findings
from trninv.routing import questions
from trninv.routing.answer import LinkRef
from trninv.units import Bandwidth, Capacity, pluralize

_SCOPE = Annotated[str, Argument("Chip, core, server, rack, domain or cluster.")]
_ANY_SCOPE = Annotated[str | None, Argument("Place; by default everything.")]
_CHIPS = Annotated[tuple[str, ...], Argument("Only these chips of the scope.")]
_SOURCE = Annotated[str, Argument("Chip, core, server, rack, domain or switch.", name="from")]
_TARGET = Annotated[str, Argument("Chip, core, server, rack, domain or switch.", name="to")]
_MAX_NAMED: Final = 3
"""Links, findings and incidents that an explanation names; it counts the others."""
_MILDEST: Final = FreeText(SEVERITIES[0])


@measure(Bandwidth, examples=("{scope: u-trn2x64/d0, at_least: 2048 GB/s}",))
def bisection(fleet: Fleet, scope: _SCOPE, chips: _CHIPS = ()) -> Reading:
    """Measure the bisection bandwidth of a scope or of some of its chips, one direction."""
    answer = fleet.ask(questions.find("bisection"), scope, chips)
    return Reading(answer.lower, answer.upper, answer.reason or _name_links("cut", answer.cut))


@measure(Bandwidth, examples=("{from: u-trn2x64/d0/s0, to: u-trn2x64/d0/s2, at_least: 1 TB/s}",))
def bandwidth(fleet: Fleet, source: _SOURCE, target: _TARGET) -> Reading:
    """Measure the maximum flow between two places over all paths together, one direction."""
    answer = fleet.ask(questions.find("bandwidth"), source, target)
    return Reading.exact(answer.maximum_flow, answer.reason or _name_links("cut", answer.minimum_cut))


@measure(
    noun="hop", implied=(AT_LEAST, 0), examples=("{from: u-trn2x64/d0/s0/c0, to: u-trn2x64/d0/s2/c10, at_most: 6}",)
)
def hops(fleet: Fleet, source: _SOURCE, target: _TARGET) -> Reading:
    """Count the hops of the shortest path between two places; without a bound, any path passes."""
    answer = fleet.ask(questions.find("path"), source, target)
    if not answer.paths:
        return Reading.exact(None, f"no path: {answer.reason}")
    best = answer.paths[0]
    nodes = [step.address for step in best.steps if step.bandwidth is None]
    return Reading.exact(best.hops, f"over {', '.join(nodes[1:-1])}" if nodes[1:-1] else "")


@measure(Capacity, examples=("{scope: u-trn2x64/d0/s0/c0, max_hops: 3, at_least: 2 TiB}",))
def pool(
    fleet: Fleet,
    scope: _SCOPE,
    max_hops: Annotated[int | None, Argument("Omit chips farther away.")] = None,
    min_bandwidth: Annotated[Bandwidth | None, Argument("Omit chips whose widest path is narrower.")] = None,
) -> Reading:
    """Measure the HBM that a place reaches, its own included."""
    answer = fleet.ask(questions.find("memory_pool"), scope, max_hops, min_bandwidth)
    return Reading.exact(answer.memory, f"on {pluralize(answer.chips, 'chip')}")


def _read_collective(fleet: Fleet, name: str, scope: str, chips: Sequence[str]) -> Reading:
    answer = fleet.ask(questions.find("collectives"), scope, chips)
    limit = getattr(answer, name)
    return Reading(limit.lower, limit.upper, answer.reason or _name_links("limited by", limit.links))


@measure(Bandwidth, examples=("{scope: u-trn2x64/d0, at_least: 200 GB/s}",))
def all_gather(fleet: Fleet, scope: _SCOPE, chips: _CHIPS = ()) -> Reading:
    """Find the limit of the wiring on the bus bandwidth of an all-gather."""
    return _read_collective(fleet, "all_gather", scope, chips)


@measure(Bandwidth, examples=("{scope: u-trn2x64/d0, at_least: 200 GB/s}",))
def reduce_scatter(fleet: Fleet, scope: _SCOPE, chips: _CHIPS = ()) -> Reading:
    """Find the limit of the wiring on the bus bandwidth of a reduce-scatter."""
    return _read_collective(fleet, "reduce_scatter", scope, chips)


@measure(Bandwidth, examples=("{scope: u-trn2x64/d0, at_least: 200 GB/s}",))
def all_reduce(fleet: Fleet, scope: _SCOPE, chips: _CHIPS = ()) -> Reading:
    """Find the limit of the wiring on the bus bandwidth of an all-reduce."""
    return _read_collective(fleet, "all_reduce", scope, chips)


@measure(Bandwidth, examples=("{scope: u-trn2x64/d0, at_least: 30 GB/s}",))
def all_to_all(fleet: Fleet, scope: _SCOPE, chips: _CHIPS = ()) -> Reading:
    """Find the limit of the wiring on the rate at which each chip sends to all the others."""
    return _read_collective(fleet, "all_to_all", scope, chips)


@measure(noun="chip", examples=("{scope: u-trn2x64, at_least: 32}",))
def free_chips(fleet: Fleet, scope: _SCOPE) -> Reading:
    """Count the chips that a new job may get."""
    answer = fleet.ask(placement_questions.find("free"), scope)
    return Reading.exact(
        answer.free, f"{answer.allocated:,} allocated, {answer.reserved:,} reserved, {answer.unusable:,} unusable"
    )


@measure(noun="job", examples=("{scope: u-trn2x64, chips: 16, at_least: 2}",))
def free_jobs(fleet: Fleet, scope: _SCOPE, chips: Annotated[int, Argument("Chips of each job.", minimum=1)]) -> Reading:
    """Count the jobs of one size that fit at once."""
    answer = fleet.ask(placement_questions.find("free"), scope)
    count = next((entry.jobs for entry in answer.concurrent_jobs if entry.chips == chips), None)
    sizes = ", ".join(str(entry.chips) for entry in answer.concurrent_jobs)
    return Reading.exact(count, f"no scheduler grants {chips:,} chips; sizes are {sizes}" if count is None else "")


@measure(
    noun="finding", implied=(AT_MOST, 0), allows_scenario=False, examples=("{scope: u-trn2x64, severity: medium}",)
)
def findings(
    fleet: Fleet,
    scope: _ANY_SCOPE = None,
    severity: Annotated[FreeText, Argument("Lowest severity that counts.", words=SEVERITY_MEANINGS)] = _MILDEST,
) -> Reading:
    """Count the drift findings that are not cleared; without a bound, 0 is the highest that passes."""
    lowest = SEVERITIES.index(severity)
    with fleet.connect() as connection:
        counted = [
            finding for finding in list_findings(connection, scope) if SEVERITIES.index(finding.severity) >= lowest
        ]
    return Reading.exact(
        len(counted),
        _name_some([f"{finding.rule} {finding.address or finding.instance or ''}".strip() for finding in counted]),
    )


@measure(noun="incident", implied=(AT_MOST, 0), allows_scenario=False, examples=("{severity: high, older_than: 2h}",))
def incidents(
    fleet: Fleet,
    scope: _ANY_SCOPE = None,
    severity: Annotated[IncidentSeverity, Argument("Lowest severity that counts.")] = IncidentSeverity.INFO,
    older_than: Annotated[Age | None, Argument("Count those that began longer ago, such as 30m, 2h or 3d.")] = None,
) -> Reading:
    """Count the incidents; without a bound, 0 is the highest that passes."""
    severities = list(IncidentSeverity)[list(IncidentSeverity).index(severity) :]
    with fleet.connect() as connection:
        now = current_time(connection)
    latest_start = None if older_than is None else now - timedelta(seconds=older_than.seconds)
    counted = [
        incident
        for incident in fleet.incidents(scope)
        if incident.severity in severities and _began_before(incident, latest_start)
    ]
    return Reading.exact(
        len(counted),
        _name_some(
            [f"{incident.place or 'several clusters'} since {incident.started_at or '?'}" for incident in counted]
        ),
    )


def _began_before(incident: Incident, time: datetime | None) -> bool:
    """Return whether an incident began before a time, if any; one whose start is unknown is old."""
    return time is None or incident.started_at is None or datetime.fromisoformat(incident.started_at) < time


def _name_links(title: str, links: Sequence[LinkRef]) -> str:
    return f"{title}: {_name_some([link.address for link in links])}" if links else ""


def _name_some(names: Sequence[str]) -> str:
    """Name the first few things, and count the others."""
    others = len(names) - _MAX_NAMED
    return ", ".join([*names[:_MAX_NAMED], *([f"{others:,} more"] if others > 0 else [])])


def _by_name(values: Iterable[Any]) -> dict[str, Measure]:
    return {value.name: value for value in values if isinstance(value, Measure)}


MEASURES: Final = _by_name(list(globals().values()))
"""All measures by name."""
