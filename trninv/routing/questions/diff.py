"""What differs between two moments: states of parts, jobs, closed servers, and what stands where."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Final

from sqlalchemy import Connection

from trninv.choice import Choice
from trninv.errors import LimitError
from trninv.history import differences
from trninv.history.differences import Asked, Span
from trninv.history.moment import Moment
from trninv.inventory.address import locate
from trninv.inventory.schema import PART_KINDS
from trninv.inventory.state import PPM, Condition
from trninv.routing.answer import Answer, At, Table, Told
from trninv.routing.question import ROUTED, Argument, Text, question
from trninv.routing.wiring import Reader
from trninv.timestamps import format_timestamp
from trninv.units import counted

MOST: Final = 10_000
_NAMES: Final = {"nic": "NIC", "network_node": "network node"}
_DEFINED: Final = (
    "net differences between the states after the last event by the first time and by the second: what changed and "
    "changed back counts only there. A part's state is that which its server leaves it, or its own where only that "
    "differs; since, who and why are the last event's. Times of imported jobs are the scheduler's"
)


class DiffBy(Choice):
    """How parts that differ are grouped."""

    PLACE = "place", "What one change left in one server, links in one domain, from the same state to the same."
    KIND = "kind", "All parts of a kind from the same state to the same."
    PART = "part", "Each part alone."


@dataclass(frozen=True, slots=True)
class DiffMoment:
    """A moment."""

    time: Annotated[str, "In UTC; of an event's number, that of the event."]
    event: Annotated[int, "Number of the last event by then; 0: none."]

    @classmethod
    def of(cls, moment: Moment) -> "DiffMoment":
        """As history has it."""
        return cls(format_timestamp(moment.time), moment.event)

    def __str__(self) -> str:
        return f"{self.time} (event {self.event})"


@dataclass(frozen=True, slots=True)
class KindDiff:
    """The parts of a kind that changed."""

    kind: Annotated[str, "Chip, link, NIC, network node, server or switch, as events have it."]
    differ: Annotated[int, "How many are in another state than before."]
    changed_back: Annotated[int, "How many changed, and are as they were."]


@dataclass(frozen=True, slots=True)
class KindCount:
    """How many parts of a kind."""

    kind: Annotated[str, "As events have it."]
    count: Annotated[int, "How many."]

    def __str__(self) -> str:
        return counted(self.count, _NAMES.get(self.kind, self.kind))


@dataclass(frozen=True, slots=True)
class StateDiff:
    """Parts that were in one state and are in another."""

    place: Annotated[At | None, "The part, or the server, domain or cluster that has them; null by kind."]
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
class ClosingDiff:
    """A server that takes no new jobs and did, or takes them again."""

    server: Annotated[At, "Its address."]
    closed: Annotated[bool, "Whether it takes none now."]
    since: Annotated[str, "Since when."]
    who: Annotated[str | None, "Who closed it; null of one that is open again."]
    why: Annotated[str | None, "The reason given."]


@dataclass(frozen=True, slots=True)
class BindingDiff:
    """A slot in which another machine stands than before."""

    server: Annotated[At, "The slot."]
    instance_before: Annotated[str | None, "Instance that stood there; null: none that is known."]
    host_before: Annotated[str | None, "Name of the host that stood there."]
    instance: Annotated[str | None, "Instance that stands there."]
    host: Annotated[str | None, "Name of the host that stands there."]
    since: Annotated[str, "Since when."]
    who: Annotated[str | None, "Who said so."]


@dataclass(frozen=True, kw_only=True)
class DiffAnswer(Answer):
    """What differs between two moments."""

    of: Annotated[At | None, "The scope; null: everything."]
    first: Annotated[DiffMoment, "The earlier moment."]
    last: Annotated[DiffMoment, "The later one."]
    by: Annotated[DiffBy, "How states are grouped."]
    kinds: Annotated[tuple[KindDiff, ...], "Each kind of part of which any changed."]
    state_groups: Annotated[int, "How many groups of parts differ, listed or not."]
    states: Annotated[tuple[StateDiff, ...], "Parts in another state, the latest change first."]
    job_count: Annotated[int, "How many jobs differ, listed or not."]
    jobs: Annotated[tuple[JobDiff, ...], "Jobs that hold other chips, by name."]
    closing_count: Annotated[int, "How many servers were closed or opened, listed or not."]
    closings: Annotated[tuple[ClosingDiff, ...], "Servers that were closed or opened."]
    binding_count: Annotated[int, "How many slots differ, listed or not."]
    bindings: Annotated[tuple[BindingDiff, ...], "Slots with another machine, by address."]
    next_skip: Annotated[
        int | None, "The skip that lists what comes after these lines, with the same times; null: nothing does."
    ]

    @property
    def differ(self) -> int:
        """Parts in another state than before."""
        return sum(each.differ for each in self.kinds)

    @property
    def changed_back(self) -> int:
        """Parts that changed, and are as they were."""
        return sum(each.changed_back for each in self.kinds)

    def told(self) -> Told:
        yield f"{self.of or 'everything'}: {self.first} to {self.last}"
        back = f"; {counted(self.changed_back, 'part')} changed and changed back" if self.changed_back else ""
        yield f"{counted(self.differ, 'part')} in another state{back}"
        if self.states:
            named = ["place"] if self.by is not DiffBy.KIND else []
            yield Table([*named, "parts", "before", "after", "since", "who", "why"], map(_state, self.states))
        yield from _table(["job", "before", "after", "lost", "gained", "since", "who"], map(_job, self.jobs))
        closed = ["server", "takes jobs", "since", "who", "why"]
        yield from _table(closed, map(_closing, self.closings))
        yield from _table(["slot", "stood there", "stands there", "since", "who"], map(_binding, self.bindings))
        if self.next_skip is not None:
            counts = self.state_groups, self.job_count, self.closing_count, self.binding_count
            left = sum(max(count - self.next_skip, 0) for count in counts)
            yield f"{counted(left, 'line')} more: the same with --skip {self.next_skip} --to {self.last.time}"


def _table(headers: list[str], rows: Iterable[Iterable[object]]) -> Told:
    if listed := list(rows):
        yield ""
        yield Table(headers, listed)


def _state(of: StateDiff) -> Iterator[object]:
    if of.place is not None:
        yield of.place
    yield ", ".join(map(str, of.parts))
    yield from (_condition(of.before, of.factor_before), _condition(of.after, of.factor), of.since, of.who, of.why)


def _condition(state: str, factor: float | None) -> Condition:
    return Condition(state, None if factor is None else round(factor * PPM))


def _job(of: JobDiff) -> tuple[object, ...]:
    return of.name, of.before, of.after, of.lost, of.gained, of.since, of.who


def _closing(of: ClosingDiff) -> tuple[object, ...]:
    return of.server, "no" if of.closed else "again", of.since, of.who, of.why


def _binding(of: BindingDiff) -> tuple[object, ...]:
    before, after = ((of.instance_before, of.host_before), (of.instance, of.host))
    return of.server, *(" ".join(filter(None, stood)) or "-" for stood in (before, after)), of.since, of.who


@question(
    price=ROUTED,
    examples=("diff u-trn2x64 --from 2026-11-22T02:00:00Z", "diff --from 4711 --to 4720 --by kind"),
    compares=False,
)
def diff(
    reader: Reader,
    from_: Annotated[
        Text,
        Argument("An ISO time with its zone, or the number of an event.", name="from", option="--from", metavar="T"),
    ],
    to: Annotated[Text | None, Argument("A later one, as --from takes it; now unless said.", metavar="T")] = None,
    of: Annotated[
        str | None,
        Argument("Place or link, with all it holds and the links that end there.", metavar="[SCOPE]", positional=True),
    ] = None,
    by: Annotated[DiffBy, Argument("How parts are grouped.")] = DiffBy.PLACE,
    most: Annotated[
        int, Argument("Lines of each list", least=1, most=MOST, name="first", option="--limit", metavar="N")
    ] = 1_000,
    skip: Annotated[int, Argument("Lines of each list to leave out first.", metavar="N")] = 0,
) -> DiffAnswer:
    """What differs between two moments: states of parts, jobs, closed servers, and what stands where."""
    if reader.changes.nodes or reader.changes.links:
        raise LimitError("history is what happened: ask it without supposing anything down or derated")
    connection = reader.connection
    span = Span.of(connection, from_, to, None if of is None else locate(connection, of))
    asked = Asked(by.value, most, skip)
    counts, lists = zip(*(_read(connection, span, asked)), strict=True)
    return DiffAnswer(
        of=span.place.address if span.place else None,
        first=DiffMoment.of(span.first),
        last=DiffMoment.of(span.last),
        by=by,
        kinds=tuple(KindDiff(row.kind, row.differ, row.back) for row in differences.kinds(connection, span)),
        state_groups=counts[0],
        states=tuple(_of_states(row, by) for row in lists[0]),
        job_count=counts[1],
        jobs=tuple(map(_of_job, lists[1])),
        closing_count=counts[2],
        closings=tuple(ClosingDiff(row.address, bool(row.after), row.at, row.who, row.why) for row in lists[2]),
        binding_count=counts[3],
        bindings=tuple(map(_of_binding, lists[3])),
        next_skip=skip + most if max(counts) > skip + most else None,
        truncated=sum(counts) > sum(map(len, lists)),
        definition=_DEFINED,
        facts=(),
    )


def _read(connection: Connection, span: Span, asked: Asked) -> Iterator[tuple[int, list[Any]]]:
    for read in (differences.states, differences.jobs, differences.closings, differences.bindings):
        yield read(connection, span, asked)


def _of_states(row: Any, by: DiffBy) -> StateDiff:
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


def _of_job(row: Any) -> JobDiff:
    return JobDiff(row.name, row.system, row.external_id, row.before, row.after, row.lost, row.gained, row.at, row.who)


def _of_binding(row: Any) -> BindingDiff:
    before, after = (row.instance_before, row.host_before), (row.instance_after, row.host_after)
    return BindingDiff(row.address, *before, *after, row.at, row.who)
