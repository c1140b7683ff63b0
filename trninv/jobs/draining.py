"""What a place takes along that goes out of service: which jobs it touches, and where each can go."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlalchemy import Connection, select

from trninv import deadline
from trninv.choice import Choice
from trninv.errors import WrongLevelError
from trninv.inventory.address import Place, locate
from trninv.inventory.schema import TABLES
from trninv.jobs.gangs import gang
from trninv.jobs.model import AnyOf, Legal
from trninv.jobs.moving import Move, Planner, alternatives, elsewhere
from trninv.jobs.room import intact
from trninv.jobs.search import Policy, Search
from trninv.jobs.stock import Stock, every_row
from trninv.jobs.tenants import Tenant
from trninv.routing.scenario import Changes
from trninv.routing.wiring import Reader
from trninv.solvers.blocks import WORD, Words, whole, words

_T = TABLES
At = tuple[int, int]
"""Row of the stock, and a set of its chips."""


class Way(Choice):
    """What can become of a job."""

    REPLACED = "REPLACED", "What it loses is replaced, and the rest of it stays."
    STAYS = "STAYS", "It keeps all that it works on, and loses spares."
    ELSEWHERE = "ELSEWHERE", "It goes elsewhere as a whole."
    AFTER_MOVES = "AFTER_MOVES", "It goes elsewhere once other jobs have moved."
    NOWHERE = "NOWHERE", "There is no place for it."


@dataclass(frozen=True, slots=True)
class Touched:
    """A job that a drain touches.

    Attributes
    ----------
    lost
        Chips that it works on and that go, by row.
    spares
        Spare ones that go.
    cut
        Rows that it can't stay in though its chips do: links among them go.

    """

    tenant: Tenant
    lost: Mapping[int, int]
    spares: Mapping[int, int]
    cut: frozenset[int]

    def stops(self, units: Sequence[int]) -> bool:
        """Whether it does: by any loss, unless a spare unit is left for each unit that loses chips."""
        spare = ((row, mask & ~self.spares.get(row, 0)) for row, mask in self.tenant.spare.items())
        have = _sizes(part for _, mask in spare for part in _parts(mask, units))
        work = self.tenant.work.items()
        need = _sizes(part for row, mask in work for part in _parts(mask, units) if part & self.lost.get(row, 0))
        return bool(self.cut) or len(have) < len(need) or any(a < b for a, b in zip(have, need, strict=False))


def _parts(mask: int, units: Sequence[int]) -> Iterator[int]:
    return (mask & unit for unit in units if mask & unit)


def _sizes(masks: Iterator[int]) -> list[int]:
    return sorted((mask.bit_count() for mask in masks), reverse=True)


@dataclass(frozen=True, slots=True)
class Outcome:
    """Where a job is afterwards, and which others move before; nowhere new if it is nowhere."""

    way: Way
    to: tuple[At, ...] = ()
    moves: tuple[Move, ...] = ()


class Drain:
    """A place that goes out of service: the stock of its cluster before and after."""

    def __init__(self, reader: Reader, of: str) -> None:
        place = locate(reader.connection, of)
        if place.level in ("cluster", "nic"):
            raise WrongLevelError(
                f"{of} is a {place.level}: drain a server, rack, domain, chip, switch, link or network node"
            )
        now = reader.changes
        parts = dict(now.nodes), dict(now.links), set(now.domains), set(now.network_nodes)
        changed = Changes(*parts, now.with_, now.without)
        changed.add(reader.connection, of, 0)
        slug = place.address.partition("/")[0]
        self.place, self.before = place, every_row(reader, slug)
        self.after = every_row(replace(reader, changes=changed), slug)
        holds = place.level not in ("link", "switch", "network_node")
        self._gone = whole(every_row(reader, of).inside) if holds else [0] * len(self.before.ordinals)
        self._broken = {row: {*lost.broken} - {*self.before.lacks(row).broken} for row, lost in self.after.lost.items()}
        self._below = list(_below(reader.connection, place)) if place.level == "network_node" else []

    @property
    def rows(self) -> list[int]:
        """Domains that lose chips or links."""
        return sorted(
            {*(row for row, mask in enumerate(self._gone) if mask), *(r for r, b in self._broken.items() if b)}
        )

    def touched(self, tenants: Sequence[Tenant]) -> list[Touched]:
        """The jobs that lose something, the largest first."""
        found = filter(None, map(self._touched, tenants))
        return sorted(found, key=lambda each: (-each.tenant.chips, each.tenant.key))

    def _touched(self, of: Tenant) -> Touched | None:
        lost, spares = (
            {row: mask & self._gone[row] for row, mask in held.items() if mask & self._gone[row]}
            for held in (of.work, of.spare)
        )
        cut = {row for row, mask in of.work.items() if row not in lost and self._cuts(row, mask)}
        if self._below and len(of.work) > 1:
            (all_below, *children), rows = self._below, set(of.work)
            if rows & all_below and not any(rows <= child for child in children):
                cut |= rows & all_below
        return Touched(of, lost, spares, frozenset(cut)) if lost or spares or cut else None

    def _cuts(self, row: int, mask: int) -> bool:
        """Whether a link among several chips goes, or one to their switch."""
        return mask.bit_count() > 1 and any(link & mask == link for link in self._broken.get(row, ()))

    def outcomes(self, touched: Sequence[Touched], tenants: Sequence[Tenant], legal: Legal) -> Iterator[Outcome]:
        """Where each goes, one after the other: what one takes, the next does not."""
        there, now = self.after, {each.key: each for each in tenants}
        staying = {each.key for each in tenants if each.pinned} | {each.tenant.key for each in touched}
        for each in touched:
            deadline.check()
            left = there.holding(_changed(there.held, each.tenant.work.items(), ()))
            others = [other for key, other in now.items() if key != each.tenant.key]
            found = self._network(left, each) if self._below else _outcome(left, each, legal, others, staying)
            yield found
            if not found.to:
                continue
            for move in found.moves:
                now[move.tenant.key] = replace(now[move.tenant.key], work={move.to_row: move.to})
            now[each.tenant.key] = replace(each.tenant, work=_joined(found.to))
            taken = [*found.to, *((move.to_row, move.to) for move in found.moves)]
            there = left.holding(_changed(left.held, [(move.row, move.mask) for move in found.moves], taken))

    def _network(self, left: Stock, of: Touched) -> Outcome:
        """Of a job of whole domains: others that hang below other network nodes."""
        full = left.model.full
        if any(mask != full for mask in of.tenant.work.values()):
            return Outcome(Way.NOWHERE)
        inside = left.inside.copy()
        inside[sorted(self._below[0])] = 0
        found = gang(replace(left, inside=inside), len(of.tenant.work))
        if found is None:
            return Outcome(Way.NOWHERE)
        way = Way.REPLACED if set(found.rows) & set(of.tenant.work) else Way.ELSEWHERE
        return Outcome(way, tuple((row, full) for row in found.rows))


def _outcome(left: Stock, of: Touched, legal: Legal, others: Sequence[Tenant], staying: Collection[int]) -> Outcome:
    """Where a job goes of which the stock holds nothing any more: part by part, what it keeps first."""
    work, rows = of.tenant.work, {*of.lost, *of.cut}
    kept = {row: mask for row, mask in work.items() if row not in rows}
    if not rows:
        return Outcome(Way.STAYS, tuple(kept.items()))
    there, to, moves = left.holding(_changed(left.held, (), kept.items())), list(kept.items()), tuple[Move, ...]()
    for row in sorted(rows):
        mask = work[row]
        found = _near(there, legal, (row, mask), mask & ~of.lost.get(row, mask)) or _best(there, legal, mask)
        if found is None:
            if moves or not (plan := _planned(there, legal, mask, others, staying)):
                return Outcome(Way.NOWHERE)
            found, moves = plan
            there = there.holding(_changed(there.held, [(move.row, move.mask) for move in moves], ()))
        to.append(found)
        there = there.holding(_changed(there.held, (), [found, *((move.to_row, move.to) for move in moves)]))
    stays = any(work.get(row, 0) & mask for row, mask in to)
    way = Way.AFTER_MOVES if moves else Way.REPLACED if stays else Way.ELSEWHERE
    return Outcome(way, tuple(sorted(to)), moves)


def _near(there: Stock, legal: Legal, part: At, kept: int) -> At | None:
    """The best set of the same domain that has all chips that a job keeps there."""
    row, mask = part
    wanted = alternatives(there, legal, mask)
    if not kept or not wanted:
        return None
    here = there.rows([row], there.inside)
    sets = _beside(here, kept, wanted.servers) if isinstance(wanted, AnyOf) else wanted
    search = Search(here, legal, [each for each in sets if each & kept == kept])
    found = search.best(search.intact, 1, Policy.QUALITY)
    return (row, found[0].mask) if found else None


def _beside(here: Stock, kept: int, servers: int) -> tuple[int, ...]:
    """The servers that a job keeps, and the first free ones of their rack that have every link."""
    model, (free,) = here.model, intact(here, here.model.whole_server)
    for rack in model.racks:
        ours = [server for server in rack if model.whole_server[server] & kept]
        others = [server for server in rack if server not in ours and free[server]]
        if ours and len(ours) + len(others) >= servers:
            return (sum(model.whole_server[each] for each in [*ours, *others][:servers]),)
    return ()


def _best(there: Stock, legal: Legal, mask: int) -> At | None:
    found = elsewhere(there, legal, mask, Policy.QUALITY, as_good=False)
    return (found.row, found.mask) if found else None


def _planned(
    there: Stock, legal: Legal, mask: int, others: Sequence[Tenant], staying: Collection[int]
) -> tuple[At, tuple[Move, ...]] | None:
    """A place that becomes free by moves of others, and those."""
    if not (wanted := alternatives(there, legal, mask)):
        return None
    plan = Planner(there, legal, others, staying).plan(wanted)
    return (plan.rooms[0], plan.moves) if plan and plan.rooms else None


def _changed(held: Words, away: Iterable[At], taken: Iterable[At]) -> Words:
    """What is held once some sets are given up, and then others taken."""
    found, chips = held.copy(), held.shape[1] * WORD
    for row, mask in away:
        found[row] &= ~words([mask], chips)[0]
    for row, mask in taken:
        found[row] |= words([mask], chips)[0]
    return found


def _joined(sets: Iterable[At]) -> dict[int, int]:
    found: dict[int, int] = {}
    for row, mask in sets:
        found[row] = found.get(row, 0) | mask
    return found


def _below(connection: Connection, place: Place) -> Iterator[set[int]]:
    """Ordinals of the domains below a network node, and then of those below each network node next below it."""
    link = _T["link"]
    fabric = link.c.scope == "fabric", link.c.domain_id.is_(None)
    children = list(connection.scalars(select(link.c.a_id).where(link.c.b_id == place.id, *fabric)))
    below = [set(_domains(connection, child)) for child in children]
    yield set().union(*below) | set(_domains(connection, place.id))
    yield from below


def _domains(connection: Connection, node: int) -> Iterator[int]:
    link, domain = _T["link"], _T["domain"]
    nodes = [node]
    while nodes:
        hung = select(domain.c.ordinal).distinct().join(link, link.c.domain_id == domain.c.id)
        yield from connection.scalars(hung.where(link.c.b_id.in_(nodes), link.c.scope == "fabric"))
        lower = select(link.c.a_id).where(link.c.b_id.in_(nodes), link.c.scope == "fabric", link.c.domain_id.is_(None))
        nodes = list(connection.scalars(lower))
