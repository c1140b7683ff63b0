"""Which jobs move, where to and in which order, so that the next one fits."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np

from trninv.inventory.address import resolve
from trninv.inventory.alone import only_cluster
from trninv.jobs.asked import Asked, asked, refuse_swapped
from trninv.jobs.model import Legal, legal_of
from trninv.jobs.moving import Move, Plan, Planner, pinned_by_name
from trninv.jobs.named import brief
from trninv.jobs.questions.fits import MOST_CHIPS, MOST_SERVERS
from trninv.jobs.revision import revision
from trninv.jobs.stock import Stock, count, every_row
from trninv.jobs.tenants import Tenant, tenants
from trninv.routing import evidence
from trninv.routing.answer import Answer, At, Table, Told
from trninv.routing.question import ROUTED, Argument, Text, question
from trninv.routing.wiring import Reader
from trninv.solvers.blocks import whole
from trninv.units import counted

_DEFINED = (
    "fewest jobs that move, then fewest chips, then room with nothing degraded; a job that moves keeps its size, gets "
    "a set that schedulers grant if it has one, with nothing degraded, and no less all-gather bandwidth; pinned jobs "
    "stay, those of several domains, those with spares, and those whose chips are neither such a set nor a box. Jobs "
    "go to chips of the scope that are free when their turn comes; within one domain every arrangement is looked at, "
    "across domains no job moves on from where it went"
)


@dataclass(frozen=True, slots=True)
class JobMove:
    """A job that moves."""

    job: Annotated[str, "Its name, or SYSTEM:ID of one that another system runs."]
    chips: Annotated[int, "How many chips it has."]
    source: Annotated[tuple[At, ...], "What it leaves: domains, servers or chips."]
    to: Annotated[tuple[At, ...], "Where it goes; free when its turn comes."]
    stops: Annotated[bool, "Whether it must stop before the first move, since moves form a cycle."]

    @classmethod
    def of(cls, there: Stock, move: Move) -> "JobMove":
        """A planned move."""
        source, to = there.places_at(move.row, move.mask), there.places_at(move.to_row, move.to)
        return cls(move.tenant.name, move.mask.bit_count(), source, to, move.stops)


def told_moves(moves: Iterable[JobMove]) -> Table:
    """Moves in their order."""
    cells = (
        [each.job, each.chips, brief(each.source), brief(each.to), "first" if each.stops else "no"] for each in moves
    )
    return Table(["job", "chips", "from", "to", "stops"], cells)


@dataclass(frozen=True, kw_only=True)
class RoomAnswer(Answer):
    """A plan of moves that makes room, and whether fewer would do."""

    of: Annotated[At, "The scope."]
    wanted: Annotated[str, "What room was asked for."]
    chips: Annotated[int, "Chips of it."]
    possible: Annotated[bool | None, "Whether there is a plan; null where none was found, and none is ruled out."]
    places: Annotated[tuple[At, ...], "What becomes free, or is: domains, servers or chips."]
    degraded: Annotated[bool, "Whether a part of what becomes free is degraded."]
    moves: Annotated[tuple[JobMove, ...], "In an order in which each place is free when its turn comes."]
    moved_chips: Annotated[int, "Chips of the jobs that move."]
    lower: Annotated[int | None, "Proven: no fewer jobs have to move; null where no moves do."]
    closed: Annotated[tuple[At, ...], "Closed servers that a plan of fewer moves, or the only one, would use if open."]
    revision: Annotated[
        str, "Of what the plan rests on: who holds what, what is closed or not up. It holds for no other."
    ]

    @property
    def exact(self) -> bool:
        """Whether no plan moves fewer jobs, or none is possible at all."""
        return self.possible is False or (bool(self.possible) and len(self.moves) == self.lower)

    def succeeded(self) -> bool:
        return bool(self.possible)

    def told(self) -> Told:
        room = f"room for {self.wanted} in {self.of}"
        if not self.possible:
            yield f"no {room}: " + (
                "no moves make it"
                if self.lower is None
                else f"no plan was found; {counted(self.lower, 'job')} or more must move"
            )
            yield from self._told_closed()
            return
        if not self.moves:
            yield f"{room} is there already: {self._places()}"
            return
        proof = "no fewer do" if self.exact else f"{self.lower} or more must move"
        moved = f"{counted(len(self.moves), 'job')} of {counted(self.moved_chips, 'chip')}"
        yield f"{room}: move {moved} ({proof}), then {self._places()} is free"
        yield told_moves(self.moves)
        yield from self._told_closed()
        yield f"revision {self.revision}"

    def _places(self) -> str:
        return brief(self.places) + (" (degraded)" if self.degraded else "")

    def _told_closed(self) -> Iterator[str]:
        if self.closed:
            less = "there would be fewer moves" if self.possible else "there would be a plan"
            yield f"closed: {brief(self.closed)}; {less} if it took jobs (trninv open)"


@question(
    price=ROUTED,
    examples=("make-room 4x4x1 u-trn2x64", "make-room u-trn2x64 --domains 1"),
    compares=False,
)
def make_room(
    reader: Reader,
    shape: Annotated[
        Text | None,
        Argument("A box of a torus, rows × columns × servers, turned any way.", positional=True),
    ] = None,
    of: Annotated[
        str | None,
        Argument(
            "Where: chip, server, rack, domain or cluster; the one cluster if left out.",
            positional=True,
            metavar="SCOPE",
        ),
    ] = None,
    chips: Annotated[
        int | None, Argument("So many chips, in a set that schedulers grant", least=1, most=MOST_CHIPS)
    ] = None,
    servers: Annotated[int | None, Argument("So many whole servers", least=1, most=MOST_SERVERS)] = None,
    domains: Annotated[int | None, Argument("So many whole domains", least=1, most=MOST_SERVERS)] = None,
    pinned: Annotated[tuple[str, ...], Argument("This job stays where it is.", metavar="JOB")] = (),
) -> RoomAnswer:
    """Which jobs to move, where to and in which order, so that there is room: the fewest jobs, then the fewest chips.

    A plan moves nothing until it is carried out. A shape may be left out for --chips, --servers or --domains.
    """
    if of is None and shape is not None and (chips, servers, domains) != (None, None, None):
        of, shape = shape, None
    refuse_swapped(of, shape, f"make-room {of} {shape}")
    scope = only_cluster(reader.connection) if of is None else of.strip()
    there = every_row(reader, scope)
    model = there.model
    legal = reader.remembered(("legal", model.slug), lambda: legal_of(reader.connection, model))
    wanted = asked(
        model,
        legal,
        shape=shape,
        chips=chips,
        memory=None,
        servers=servers,
        domains=domains,
        any_block=None,
        as_written=False,
    )
    cluster = resolve(reader.connection, scope).cluster_id
    listed = tenants(reader, cluster, model)
    staying = pinned_by_name(listed, pinned)
    plan = Planner(there, legal, listed, staying).wanted(wanted)
    return RoomAnswer(
        of=scope,
        wanted=wanted.words,
        chips=wanted.chips,
        possible=None if plan and not plan.rooms else plan is not None,
        places=tuple(place for row, mask in (plan.rooms if plan else ()) for place in there.places_at(row, mask)),
        degraded=any(there.degraded_at(row, mask) for row, mask in (plan.rooms if plan else ())),
        moves=tuple(JobMove.of(there, move) for move in (plan.moves if plan else ())),
        moved_chips=sum(move.mask.bit_count() for move in (plan.moves if plan else ())),
        lower=plan.lower if plan else None,
        closed=_closed(there, legal, listed, staying, wanted, plan),
        revision=revision(reader.connection, cluster),
        definition=_DEFINED,
        facts=evidence.cite(reader, sorted({model.of.server.slug, model.slug}), ["chip_sets", "server_sets"]),
    )


def _closed(
    there: Stock, legal: Legal, listed: Sequence[Tenant], staying: Collection[int], wanted: Asked, plan: Plan | None
) -> tuple[str, ...]:
    """Closed servers that a better plan would use."""
    if not count(there.closed & there.usable) or (plan and plan.rooms and not plan.moves):
        return ()
    opened = replace(there, closed=np.zeros_like(there.closed))
    best = Planner(opened, legal, listed, staying).wanted(wanted)
    if best is None or not best.rooms or (plan and plan.rooms and len(plan.moves) <= len(best.moves)):
        return ()
    used = [*best.rooms, *((move.to_row, move.to) for move in best.moves)]
    closed = whole(there.closed)
    taken = ((row, mask & closed[row]) for row, mask in used)
    return tuple(dict.fromkeys(server for row, mask in taken for server in there.servers_at(row, mask)))
