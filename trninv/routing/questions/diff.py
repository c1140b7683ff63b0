"""Answer what changed between two times: states, jobs, cordons and bindings."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Final

from sqlalchemy import Connection

from trninv.database.tables import PART_KINDS
from trninv.enumeration import DescribedEnum
from trninv.errors import InvalidArgumentError
from trninv.history import history_diff
from trninv.history.history_diff import DiffPage, DiffRange
from trninv.history.point_in_time import PointInTime
from trninv.inventory.address.lookup import resolve
from trninv.inventory.parameter import Argument, TimeOrEvent
from trninv.inventory.state.condition import PPM, Condition
from trninv.rendered_text import Rendered, RenderedTable
from trninv.routing.answer import AddressText, Answer
from trninv.routing.question import ROUTED_COST, question
from trninv.routing.snapshot import Snapshot
from trninv.units import format_timestamp, pluralize

MAX_LINES: Final = 10_000
"""Most lines that one answer has of each list: states, jobs, cordons and bindings."""
_KIND_NAMES: Final = {"nic": "NIC", "network_node": "network node"}
_DEFINITION: Final = (
    "net differences between two states: after the last event by the first time, and by the second. Parts that "
    "changed and reverted are only counted. A part's state includes its server's, or is its own where only that "
    "differs; since, who and why are the last event's. Times of imported jobs are the scheduler's"
)


class DiffBy(DescribedEnum):
    """How changed parts are grouped."""

    PLACE = "place", "Parts of a server, or links of a domain, that one change took from one state to another."
    KIND = "kind", "All parts of a kind that went from one state to another."
    PART = "part", "Each part alone."


@dataclass(frozen=True, slots=True)
class DiffTime:
    """A point in time."""

    time: Annotated[str, "Time in UTC; for the number of an event, the event's time."]
    event: Annotated[int, "Number of the last event up to then; 0: none."]

    @classmethod
    def from_point(cls, point: PointInTime) -> "DiffTime":
        """Convert a point in time of the recorded history."""
        return cls(format_timestamp(point.time), point.event)

    def __str__(self) -> str:
        return f"{self.time} (event {self.event})"


@dataclass(frozen=True, slots=True)
class KindDiff:
    """The parts of a kind that changed."""

    kind: Annotated[str, "Chip, link, NIC, network node, server or switch."]
    changed: Annotated[int, "Number of parts whose state differs."]
    reverted: Annotated[int, "Number of parts that changed and reverted."]


@dataclass(frozen=True, slots=True)
class KindCount:
    """Number of parts of a kind."""

    kind: Annotated[str, "Chip, link, NIC, network node, server or switch."]
    count: Annotated[int, "Number of parts."]

    def __str__(self) -> str:
        return pluralize(self.count, _KIND_NAMES.get(self.kind, self.kind))


@dataclass(frozen=True, slots=True)
class StateDiff:
    """Parts that changed from one state to another."""

    place: Annotated[
        AddressText | None, "The part, or the server, domain or cluster with the parts; null if grouped by kind."
    ]
    parts: Annotated[tuple[KindCount, ...], "Number of parts of each kind."]
    before: Annotated[str, "State at the start."]
    factor_before: Annotated[float | None, "Fraction of its bandwidth that a degraded part carried at the start."]
    after: Annotated[str, "State at the end."]
    factor: Annotated[float | None, "Fraction of its bandwidth that a degraded part carried at the end."]
    since: Annotated[str, "Time of their last event."]
    event: Annotated[int, "Number of that event."]
    who: Annotated[str, "Who made the change."]
    why: Annotated[str, "The reason given."]


@dataclass(frozen=True, slots=True)
class JobDiff:
    """A job whose chips changed."""

    name: Annotated[str, "Its name."]
    system: Annotated[str, "System that runs it; trninv for a job allocated here."]
    external_id: Annotated[str, "Its id in that system."]
    before: Annotated[int, "Number of its chips in the scope at the start."]
    after: Annotated[int, "Number of its chips in the scope at the end."]
    lost: Annotated[int, "Number of chips that it lost."]
    gained: Annotated[int, "Number of chips that it gained."]
    since: Annotated[str, "Time of the last change of its chips."]
    who: Annotated[str, "Who allocated it; events have who moved or released it."]


@dataclass(frozen=True, slots=True)
class CordonDiff:
    """A server that was cordoned or uncordoned."""

    server: Annotated[AddressText, "Its address."]
    cordoned: Annotated[bool, "Whether it is cordoned at the end."]
    since: Annotated[str, "Time of the change."]
    who: Annotated[str | None, "Who cordoned it; null if it was uncordoned."]
    why: Annotated[str | None, "The reason given."]


@dataclass(frozen=True, slots=True)
class BindingDiff:
    """A slot whose instance changed."""

    server: Annotated[AddressText, "The slot."]
    instance_before: Annotated[str | None, "Instance at the start; null if none is known."]
    host_before: Annotated[str | None, "Host name at the start."]
    instance: Annotated[str | None, "Instance at the end."]
    host: Annotated[str | None, "Host name at the end."]
    since: Annotated[str, "Time of the change."]
    who: Annotated[str | None, "Who made the change."]


@dataclass(frozen=True, kw_only=True)
class DiffAnswer(Answer):
    """Differences between two points in time."""

    scope: Annotated[AddressText | None, "The scope; null: everything."]
    start: Annotated[DiffTime, "The earlier time."]
    end: Annotated[DiffTime, "The later time."]
    by: Annotated[DiffBy, "How states are grouped."]
    kinds: Annotated[tuple[KindDiff, ...], "Each kind with changed parts."]
    state_groups: Annotated[int, "Number of groups of changed parts, listed or not."]
    states: Annotated[tuple[StateDiff, ...], "Groups of changed parts, latest change first."]
    job_count: Annotated[int, "Number of changed jobs, listed or not."]
    jobs: Annotated[tuple[JobDiff, ...], "Jobs whose chips changed, by name."]
    cordon_count: Annotated[int, "Number of servers that were cordoned or uncordoned, listed or not."]
    cordons: Annotated[tuple[CordonDiff, ...], "Servers that were cordoned or uncordoned."]
    binding_count: Annotated[int, "Number of changed slots, listed or not."]
    bindings: Annotated[tuple[BindingDiff, ...], "Slots whose instance changed, by address."]
    next_skip: Annotated[int | None, "The skip that lists the next lines, with the same times; null after the last."]

    @property
    def changed(self) -> int:
        """Number of parts whose state differs."""
        return sum(kind_diff.changed for kind_diff in self.kinds)

    @property
    def reverted(self) -> int:
        """Number of parts that changed and reverted."""
        return sum(kind_diff.reverted for kind_diff in self.kinds)

    def render(self) -> Rendered:
        yield f"{self.scope or 'everything'}: {self.start} to {self.end}"
        reverted_text = f"; changed and reverted: {pluralize(self.reverted, 'part')}" if self.reverted else ""
        yield f"changed state: {pluralize(self.changed, 'part')}{reverted_text}"
        if self.states:
            place_header = ["place"] if self.by is not DiffBy.KIND else []
            yield RenderedTable(
                [*place_header, "parts", "before", "after", "since", "who", "why"], map(_state_row, self.states)
            )
        yield from _render_table(
            ["job", "before", "after", "lost", "gained", "since", "allocated by"], map(_job_row, self.jobs)
        )
        headers = ["server", "cordoned", "since", "who", "why"]
        yield from _render_table(headers, map(_cordon_row, self.cordons))
        yield from _render_table(
            ["slot", "instance before", "instance after", "since", "who"], map(_binding_row, self.bindings)
        )
        if self.next_skip is not None:
            counts = self.state_groups, self.job_count, self.cordon_count, self.binding_count
            remaining = sum(max(count - self.next_skip, 0) for count in counts)
            yield f"{pluralize(remaining, 'line')} more: add --skip {self.next_skip} --to {self.end.time}"


def _render_table(headers: list[str], rows: Iterable[Iterable[object]]) -> Rendered:
    """Yield an empty line and a table, or nothing if there are no rows."""
    if row_list := list(rows):
        yield ""
        yield RenderedTable(headers, row_list)


def _state_row(state_diff: StateDiff) -> Iterator[object]:
    if state_diff.place is not None:
        yield state_diff.place
    yield ", ".join(map(str, state_diff.parts))
    yield from (
        _to_condition(state_diff.before, state_diff.factor_before),
        _to_condition(state_diff.after, state_diff.factor),
        state_diff.since,
        state_diff.who,
        state_diff.why,
    )


def _to_condition(state: str, factor: float | None) -> Condition:
    return Condition(state, None if factor is None else round(factor * PPM))


def _job_row(job_diff: JobDiff) -> tuple[object, ...]:
    return job_diff.name, job_diff.before, job_diff.after, job_diff.lost, job_diff.gained, job_diff.since, job_diff.who


def _cordon_row(cordon_diff: CordonDiff) -> tuple[object, ...]:
    return (
        cordon_diff.server,
        "yes" if cordon_diff.cordoned else "no",
        cordon_diff.since,
        cordon_diff.who,
        cordon_diff.why,
    )


def _binding_row(binding_diff: BindingDiff) -> tuple[object, ...]:
    before = " ".join(filter(None, (binding_diff.instance_before, binding_diff.host_before))) or "-"
    after = " ".join(filter(None, (binding_diff.instance, binding_diff.host))) or "-"
    return binding_diff.server, before, after, binding_diff.since, binding_diff.who


@question(
    cost=ROUTED_COST,
    examples=("diff u-trn2x64 --from 2026-11-22T02:00:00Z", "diff --from 4711 --to 4720 --by kind"),
    has_baseline=False,
    reads_clock=True,
)
def diff(
    snapshot: Snapshot,
    from_: Annotated[
        TimeOrEvent,
        Argument("ISO time with its zone, or the number of an event.", name="from", option="--from", metavar="T"),
    ],
    to: Annotated[TimeOrEvent | None, Argument("Later time, as for --from; by default now.", metavar="T")] = None,
    scope: Annotated[
        str | None,
        Argument(
            "Place or link, with everything in it and the links that end there.", metavar="[SCOPE]", positional=True
        ),
    ] = None,
    by: Annotated[DiffBy, Argument("How to group changed parts.")] = DiffBy.PLACE,
    limit: Annotated[
        int, Argument("Lines of each list", minimum=1, maximum=MAX_LINES, name="first", option="--limit", metavar="N")
    ] = 1_000,
    skip: Annotated[int, Argument("Lines of each list to skip.", metavar="N")] = 0,
) -> DiffAnswer:
    """List what changed between two times: states, jobs, cordons, bindings."""
    if snapshot.changes.nodes or snapshot.changes.links:
        raise InvalidArgumentError("a scenario has no history; omit what is down or derated")
    connection = snapshot.connection
    span = DiffRange.from_times(connection, from_, to, None if scope is None else resolve(connection, scope))
    page = DiffPage(by.value, limit, skip)
    counts, lists = zip(*(_read_lists(connection, span, page)), strict=True)
    return DiffAnswer(
        scope=span.place.address if span.place else None,
        start=DiffTime.from_point(span.first),
        end=DiffTime.from_point(span.last),
        by=by,
        kinds=tuple(KindDiff(*count) for count in history_diff.change_counts(connection, span, lists[0])),
        state_groups=counts[0],
        states=tuple(_to_state_diff(row, by) for row in lists[0]),
        job_count=counts[1],
        jobs=tuple(map(_to_job_diff, lists[1])),
        cordon_count=counts[2],
        cordons=tuple(CordonDiff(row.address, bool(row.after), row.at, row.who, row.why) for row in lists[2]),
        binding_count=counts[3],
        bindings=tuple(map(_to_binding_diff, lists[3])),
        next_skip=skip + limit if max(counts) > skip + limit else None,
        truncated=sum(counts) > sum(map(len, lists)),
        definition=_DEFINITION,
        facts=(),
    )


def _read_lists(connection: Connection, span: DiffRange, page: DiffPage) -> Iterator[tuple[int, list[Any]]]:
    """Yield the total number of rows and the page's rows, for states, jobs, cordons and bindings in this order."""
    for read_list in (
        history_diff.state_changes,
        history_diff.job_changes,
        history_diff.cordon_changes,
        history_diff.binding_changes,
    ):
        yield read_list(connection, span, page)


def _to_state_diff(row: Any, by: DiffBy) -> StateDiff:
    counts = row._mapping  # noqa: SLF001 # SQLAlchemy's public name for it
    return StateDiff(
        None if by is DiffBy.KIND else row.name,
        tuple(KindCount(kind, counts[kind]) for kind in PART_KINDS if counts[kind]),
        row.before,
        row.factor_before and row.factor_before / PPM,
        row.after,
        row.factor and row.factor / PPM,
        row.at,
        row.event,
        row.who,
        row.why,
    )


def _to_job_diff(row: Any) -> JobDiff:
    return JobDiff(row.name, row.system, row.external_id, row.before, row.after, row.lost, row.gained, row.at, row.who)


def _to_binding_diff(row: Any) -> BindingDiff:
    machine_before, machine_after = (row.instance_before, row.host_before), (row.instance_after, row.host_after)
    return BindingDiff(row.address, *machine_before, *machine_after, row.at, row.who)
