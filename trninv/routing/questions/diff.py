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
from trninv.inventory.state.condition import PPM, Condition
from trninv.routing.answer import AddressText, Answer, Rendered, RenderedTable
from trninv.routing.question import ROUTED_COST, Argument, FreeText, question
from trninv.routing.wiring_cache import SnapshotReader
from trninv.units import format_timestamp, pluralize

MAX_LINES: Final = 10_000
_KIND_NAMES: Final = {"nic": "NIC", "network_node": "network node"}
_DEFINITION: Final = (
    "net differences between the states after the last event by the first time and by the second: what changed and "
    "changed back counts only there. A part's state is that which its server leaves it, or its own where only that "
    "differs; since, who and why are the last event's. Times of imported jobs are the scheduler's"
)


class DiffBy(DescribedEnum):
    """How parts that differ are grouped."""

    PLACE = "place", "What one change left in one server, links in one domain, from the same state to the same."
    KIND = "kind", "All parts of a kind from the same state to the same."
    PART = "part", "Each part alone."


@dataclass(frozen=True, slots=True)
class DiffTime:
    """A moment."""

    time: Annotated[str, "In UTC; of an event's number, that of the event."]
    event: Annotated[int, "Number of the last event by then; 0: none."]

    @classmethod
    def from_moment(cls, moment: PointInTime) -> "DiffTime":
        """Convert a point in time of the history."""
        return cls(format_timestamp(moment.time), moment.event)

    def __str__(self) -> str:
        return f"{self.time} (event {self.event})"


@dataclass(frozen=True, slots=True)
class KindDiff:
    """The parts of a kind that changed."""

    kind: Annotated[str, "Chip, link, NIC, network node, server or switch, as events have it."]
    changed: Annotated[int, "How many are in another state than before."]
    reverted: Annotated[int, "How many changed, and are as they were."]


@dataclass(frozen=True, slots=True)
class KindCount:
    """How many parts of a kind."""

    kind: Annotated[str, "As events have it."]
    count: Annotated[int, "How many."]

    def __str__(self) -> str:
        return pluralize(self.count, _KIND_NAMES.get(self.kind, self.kind))


@dataclass(frozen=True, slots=True)
class StateDiff:
    """Parts that were in one state and are in another."""

    place: Annotated[AddressText | None, "The part, or the server, domain or cluster that has them; null by kind."]
    parts: Annotated[tuple[KindCount, ...], "How many of each kind."]
    before: Annotated[str, "State at the first moment."]
    factor_before: Annotated[float | None, "What was degraded carried this part of it."]
    after: Annotated[str, "State at the second."]
    factor: Annotated[float | None, "What is degraded carries this part of it."]
    since: Annotated[str, "Time of the last event of them."]
    event: Annotated[int, "Its number."]
    who: Annotated[str, "Who made that change."]
    why: Annotated[str, "The reason given for it."]


@dataclass(frozen=True, slots=True)
class JobDiff:
    """A job that holds other chips than before."""

    name: Annotated[str, "Its name."]
    system: Annotated[str, "What runs it; trninv where it was held here."]
    external_id: Annotated[str, "What its system calls it."]
    before: Annotated[int, "Chips of the scope that it held."]
    after: Annotated[int, "Chips of the scope that it holds."]
    lost: Annotated[int, "Chips that it held and holds no more."]
    gained: Annotated[int, "Chips that it holds and held not."]
    since: Annotated[str, "When the last of them changed."]
    who: Annotated[str, "Who held chips for it."]


@dataclass(frozen=True, slots=True)
class CordonDiff:
    """A server that takes no new jobs and did, or takes them again."""

    server: Annotated[AddressText, "Its address."]
    cordoned: Annotated[bool, "Whether it takes none now."]
    since: Annotated[str, "Since when."]
    who: Annotated[str | None, "Who closed it; null of one that is open again."]
    why: Annotated[str | None, "The reason given."]


@dataclass(frozen=True, slots=True)
class BindingDiff:
    """A slot in which another machine stands than before."""

    server: Annotated[AddressText, "The slot."]
    instance_before: Annotated[str | None, "Instance that stood there; null: none that is known."]
    host_before: Annotated[str | None, "Name of the host that stood there."]
    instance: Annotated[str | None, "Instance that stands there."]
    host: Annotated[str | None, "Name of the host that stands there."]
    since: Annotated[str, "Since when."]
    who: Annotated[str | None, "Who said so."]


@dataclass(frozen=True, kw_only=True)
class DiffAnswer(Answer):
    """What differs between two moments."""

    scope: Annotated[AddressText | None, "The scope; null: everything."]
    start: Annotated[DiffTime, "The earlier moment."]
    end: Annotated[DiffTime, "The later one."]
    by: Annotated[DiffBy, "How states are grouped."]
    kinds: Annotated[tuple[KindDiff, ...], "Each kind of part of which any changed."]
    state_groups: Annotated[int, "How many groups of parts differ, listed or not."]
    states: Annotated[tuple[StateDiff, ...], "Parts in another state, the latest change first."]
    job_count: Annotated[int, "How many jobs differ, listed or not."]
    jobs: Annotated[tuple[JobDiff, ...], "Jobs that hold other chips, by name."]
    cordon_count: Annotated[int, "How many servers were closed or opened, listed or not."]
    cordons: Annotated[tuple[CordonDiff, ...], "Servers that were closed or opened."]
    binding_count: Annotated[int, "How many slots differ, listed or not."]
    bindings: Annotated[tuple[BindingDiff, ...], "Slots with another machine, by address."]
    next_skip: Annotated[
        int | None, "The skip that lists what comes after these lines, with the same times; null: nothing does."
    ]

    @property
    def changed(self) -> int:
        """Parts in another state than before."""
        return sum(kind_diff.changed for kind_diff in self.kinds)

    @property
    def reverted(self) -> int:
        """Parts that changed, and are as they were."""
        return sum(kind_diff.reverted for kind_diff in self.kinds)

    def render(self) -> Rendered:
        yield f"{self.scope or 'everything'}: {self.start} to {self.end}"
        reverted_text = f"; {pluralize(self.reverted, 'part')} changed and changed back" if self.reverted else ""
        yield f"{pluralize(self.changed, 'part')} in another state{reverted_text}"
        if self.states:
            place_header = ["place"] if self.by is not DiffBy.KIND else []
            yield RenderedTable(
                [*place_header, "parts", "before", "after", "since", "who", "why"], map(_state_row, self.states)
            )
        yield from _render_table(["job", "before", "after", "lost", "gained", "since", "who"], map(_job_row, self.jobs))
        headers = ["server", "takes jobs", "since", "who", "why"]
        yield from _render_table(headers, map(_cordon_row, self.cordons))
        yield from _render_table(
            ["slot", "stood there", "stands there", "since", "who"], map(_binding_row, self.bindings)
        )
        if self.next_skip is not None:
            counts = self.state_groups, self.job_count, self.cordon_count, self.binding_count
            remaining = sum(max(count - self.next_skip, 0) for count in counts)
            yield f"{pluralize(remaining, 'line')} more: the same with --skip {self.next_skip} --to {self.end.time}"


def _render_table(headers: list[str], rows: Iterable[Iterable[object]]) -> Rendered:
    if row_list := list(rows):
        yield ""
        yield RenderedTable(headers, row_list)


def _state_row(state_diff: StateDiff) -> Iterator[object]:
    if state_diff.place is not None:
        yield state_diff.place
    yield ", ".join(map(str, state_diff.parts))
    yield from (
        _condition(state_diff.before, state_diff.factor_before),
        _condition(state_diff.after, state_diff.factor),
        state_diff.since,
        state_diff.who,
        state_diff.why,
    )


def _condition(state: str, factor: float | None) -> Condition:
    return Condition(state, None if factor is None else round(factor * PPM))


def _job_row(job_diff: JobDiff) -> tuple[object, ...]:
    return job_diff.name, job_diff.before, job_diff.after, job_diff.lost, job_diff.gained, job_diff.since, job_diff.who


def _cordon_row(cordon_diff: CordonDiff) -> tuple[object, ...]:
    return (
        cordon_diff.server,
        "no" if cordon_diff.cordoned else "again",
        cordon_diff.since,
        cordon_diff.who,
        cordon_diff.why,
    )


def _binding_row(binding_diff: BindingDiff) -> tuple[object, ...]:
    machine_before, machine_after = (
        (binding_diff.instance_before, binding_diff.host_before),
        (binding_diff.instance, binding_diff.host),
    )
    return (
        binding_diff.server,
        *(" ".join(filter(None, machine)) or "-" for machine in (machine_before, machine_after)),
        binding_diff.since,
        binding_diff.who,
    )


@question(
    cost=ROUTED_COST,
    examples=("diff u-trn2x64 --from 2026-11-22T02:00:00Z", "diff --from 4711 --to 4720 --by kind"),
    has_baseline=False,
)
def diff(
    reader: SnapshotReader,
    from_: Annotated[
        FreeText,
        Argument("An ISO time with its zone, or the number of an event.", name="from", option="--from", metavar="T"),
    ],
    to: Annotated[FreeText | None, Argument("A later one, as --from takes it; now unless said.", metavar="T")] = None,
    scope: Annotated[
        str | None,
        Argument("Place or link, with all it holds and the links that end there.", metavar="[SCOPE]", positional=True),
    ] = None,
    by: Annotated[DiffBy, Argument("How parts are grouped.")] = DiffBy.PLACE,
    limit: Annotated[
        int, Argument("Lines of each list", minimum=1, maximum=MAX_LINES, name="first", option="--limit", metavar="N")
    ] = 1_000,
    skip: Annotated[int, Argument("Lines of each list to leave out first.", metavar="N")] = 0,
) -> DiffAnswer:
    """What differs between two moments: states of parts, jobs, closed servers, and what stands where."""
    if reader.changes.nodes or reader.changes.links:
        raise InvalidArgumentError("history is what happened: ask it without supposing anything down or derated")
    connection = reader.connection
    span = DiffRange.from_times(connection, from_, to, None if scope is None else resolve(connection, scope))
    page = DiffPage(by.value, limit, skip)
    counts, lists = zip(*(_read_lists(connection, span, page)), strict=True)
    return DiffAnswer(
        scope=span.place.address if span.place else None,
        start=DiffTime.from_moment(span.first),
        end=DiffTime.from_moment(span.last),
        by=by,
        kinds=tuple(KindDiff(row.kind, row.differ, row.back) for row in history_diff.change_counts(connection, span)),
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
        None if by is DiffBy.KIND else row.of,
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
