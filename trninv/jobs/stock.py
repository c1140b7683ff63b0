"""What of a scope is held, free and unusable: one definition, for every answer about placement.

usable  chips that are up or degraded         held      chips of a job that has not ended, down or not
closed  chips of servers that take no jobs    free      usable, not held, not closed
                                              unusable  neither held nor free

Held, free and unusable chips are all chips: `trninv.inventory.chip_use` says the same in SQL.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, select

from trninv.errors import LimitError
from trninv.inventory.address import Place, chips_of, resolve
from trninv.inventory.past import among_lost
from trninv.inventory.ranges import each_of
from trninv.inventory.schema import CARRYING, TABLES, is_not_up
from trninv.inventory.state import PPM
from trninv.jobs.damage import Damage, Lost, lost_of
from trninv.jobs.model import Model, Part, model_of
from trninv.jobs.supposed import supposed
from trninv.routing.wiring import Reader
from trninv.solvers.blocks import Words, distinct, words
from trninv.solvers.slices import Limits

_T: Final = TABLES


@dataclass(frozen=True)
class Stock:
    """The chips of a scope by domain, as sets in rows of words.

    Attributes
    ----------
    ordinals
        Of the domains, in order.
    inside
        Chips that are of the scope.

    """

    cluster: str
    model: Model
    ordinals: NDArray[np.int64]
    inside: Words
    up: Words
    held: Words
    closed: Words
    damage: Damage = field(default_factory=dict)

    @cached_property
    def usable(self) -> Words:
        """Chips that carry traffic."""
        return self.up & self.inside

    @cached_property
    def free(self) -> Words:
        """Chips that the next job may have."""
        return self.usable & ~self.held & ~self.closed

    @cached_property
    def unusable(self) -> Words:
        """Chips that no job holds, and that none may have."""
        return self.inside & ~self.held & ~self.free

    @cached_property
    def degraded(self) -> Words:
        """Chips that are not up, or have a NIC that is not; those of domains that lost chips only are left out."""
        found = np.zeros_like(self.inside)
        for row, lost in self.lost.items():
            found[row] = words([lost.chips], self.model.chips)[0]
        return found

    @cached_property
    def kinds(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Domains that are alike: the first row of each kind, and the kind of each row; a damaged one is like none."""
        return self.kinds_of()

    def kinds_of(self, *more: Words) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The same of domains that are alike in these sets of chips too."""
        marks = np.zeros((len(self.free), 1), np.uint64)
        damaged = sorted(self.lost)
        marks[damaged, 0] = np.array(damaged, np.uint64) + 1
        return distinct(np.hstack([self.free, *more, marks]))

    @cached_property
    def lost(self) -> Mapping[int, Lost]:
        """What damaged domains lack, by row, where anything is lost beside chips that are down."""
        return {
            row: self.lacks(row)
            for row, parts in self.damage.items()
            if any(left or not isinstance(part, int) or part >= self.model.chips for part, left in parts.items())
        }

    def lacks(self, row: int) -> Lost:
        """What a row lacks, with the links of chips that are down as well."""
        return lost_of(self.model, self.damage.get(row, {}))

    def limits_at(self, row: int, mask: int) -> Limits:
        """What chips of a row carry as they are."""
        return self.model.worn_limits(mask, self.lacks(row).carried) if row in self.damage else self.model.limits(mask)

    def degraded_at(self, row: int, mask: int) -> bool:
        """Whether any of some chips of a row, or a link among several, is degraded."""
        return self.lacks(row).wears(mask)

    def rows(self, rows: Sequence[int], inside: Words) -> "Stock":
        """Some domains of it, and of them what is inside."""
        up, held, closed = (sets[rows] for sets in (self.up, self.held, self.closed))
        damage = {at: self.damage[row] for at, row in enumerate(rows) if row in self.damage}
        return Stock(self.cluster, self.model, self.ordinals[rows], inside[rows], up, held, closed, damage)

    def holding(self, held: Words) -> "Stock":
        """The same with other chips held."""
        found = replace(self, held=held)
        found.__dict__["lost"] = self.lost  # takes long to find, and does not depend on who holds what
        return found

    def as_new(self) -> "Stock":
        """The same with everything up."""
        return replace(self, up=self.inside | self.up, damage={})

    def places_at(self, row: int, mask: int) -> tuple[str, ...]:
        """Addresses of the fewest things that chips of a row make up: their domain, their servers, or themselves."""
        servers = self.servers_at(row, mask)
        if mask == self.model.full:
            return (self.domain_at(row),)
        return servers if mask.bit_count() == len(servers) * self.model.per_server else self.chips_at(row, mask)

    def chips_at(self, row: int, mask: int) -> tuple[str, ...]:
        """Addresses of chips of a row."""
        each = self.model.per_server
        bits = (bit for bit in range(self.model.chips) if mask >> bit & 1)
        return tuple(f"{self.domain_at(row)}/s{bit // each}/c{bit % each}" for bit in bits)

    def servers_at(self, row: int, mask: int) -> tuple[str, ...]:
        """Addresses of the servers that chips of a row are in."""
        inside = (server for server, whole in enumerate(self.model.whole_server) if mask & whole)
        return tuple(f"{self.domain_at(row)}/s{server}" for server in inside)

    def domain_at(self, row: int) -> str:
        """Address of the domain of a row."""
        return f"{self.cluster}/d{self.ordinals[row]}"


def count(sets: Words) -> int:
    """Chips in all."""
    return int(np.bitwise_count(sets).sum())


def stock(reader: Reader, scope: str, avoid: Collection[str] = ()) -> Stock:
    """Of a scope, as it is or is supposed to be.

    Parameters
    ----------
    avoid
        Places that are left out.

    Raises
    ------
    AddressError, UnknownAddressError, WrongLevelError
        The scope or a place is none that holds chips.
    LimitError
        The cluster has domains of several models.

    """
    found, chips = _narrowed(reader, scope, avoid)
    if chips is None:
        return found
    rows: Sequence[int] = np.flatnonzero(chips.any(axis=1)).tolist()
    return found.rows(rows, found.inside & chips)


def every_row(reader: Reader, scope: str) -> Stock:
    """The same, with a row for each domain of the cluster, by ordinal; those beside the scope have nothing inside."""
    found, chips = _narrowed(reader, scope, ())
    return found if chips is None else replace(found, inside=found.inside & chips)


def _narrowed(reader: Reader, scope: str, avoid: Collection[str]) -> tuple[Stock, Words | None]:
    """The stock of a scope's cluster, and the chips of the scope, if it is less."""
    place = resolve(reader.connection, scope)
    cluster = cluster_of(reader.connection, place.cluster_id)
    found: Stock = reader.remembered(("stock", cluster.id), lambda: _read(reader.connection, cluster))
    if reader.changes.with_ or reader.changes.without:
        found = _supposing_jobs(reader, cluster, found)
    if reader.changes.nodes or reader.changes.links:
        found = _damaged(found, _supposed(reader, cluster, found.model))
    for address in each_of(avoid):
        away = resolve(reader.connection, address)
        if away.cluster_id == place.cluster_id:
            found = replace(found, inside=found.inside & ~_chips(reader.connection, away, cluster, found))
    return found, None if place.level == "cluster" else _chips(reader.connection, place, cluster, found)


def _supposing_jobs(reader: Reader, cluster: Any, of: Stock) -> Stock:  # of a row
    jobs, held = supposed(reader.connection, reader.changes), of.held
    for chips in jobs.ended.values():
        held = held & ~sets_of(chips, cluster, of.model)
    for chips in jobs.held.values():
        held = held | sets_of(chips, cluster, of.model)
    return of.holding(held)


def by_row(chips: Iterable[int], cluster: Any, model: Model) -> dict[int, int]:  # of a row
    """Chips by the ordinals of their domains, those of other clusters left out."""
    found: dict[int, int] = {}
    for key in chips:
        row, local = divmod(key - cluster.first_node_id, model.nodes)
        if 0 <= row < cluster.domains:
            found[row] = found.get(row, 0) | 1 << local
    return found


def sets_of(chips: Iterable[int], cluster: Any, model: Model) -> Words:  # of a row
    """Chips as sets, in the rows of their cluster."""
    found = np.zeros((cluster.domains, words([model.full], model.chips).shape[1]), np.uint64)
    for row, mask in by_row(chips, cluster, model).items():
        found[row] = words([mask], model.chips)[0]
    return found


def cluster_of(connection: Connection, key: int) -> Any:  # a row
    """The row of a cluster, and the slug of its model of domain.

    Raises
    ------
    LimitError
        Its domains are of several models.

    """
    cluster, model = _T["cluster"], _T["domain_model"]
    query = select(cluster, model.c.slug.label("model")).outerjoin(model, model.c.id == cluster.c.domain_model_id)
    found = connection.execute(query.where(cluster.c.id == key)).one()
    if found.model is None:
        raise LimitError(
            f"{found.slug} has domains of several models, of which no place is found for jobs yet: hold chips by their "
            "addresses (v_domain_free says which are free)"
        )
    return found


def _read(connection: Connection, cluster: Any) -> Stock:  # of a row
    model = model_of(cluster.model)
    whole = np.tile(words([model.full], model.chips), (cluster.domains, 1))
    held = _held(connection, cluster, whole.shape[1])
    closed = np.zeros_like(whole)
    for ordinal, server in _closed(connection, cluster.id):
        closed[ordinal] |= words([model.whole_server[server]], model.chips)[0]
    made = Stock(cluster.slug, model, np.arange(cluster.domains), whole, whole.copy(), held, closed)
    return _damaged(made, _damage(connection, cluster, model))


def _held(connection: Connection, cluster: Any, width: int) -> Words:  # of a row
    """By domain, in so many words."""
    table, first = _T["domain_held"], cluster.first_domain_id
    columns = list(table.c)[: 1 + width]
    query = select(*columns).where(table.c.id >= first, table.c.id < first + cluster.domains)
    rows = connection.execute(query).all()
    listed = np.fromiter(chain.from_iterable(rows), np.int64).reshape(-1, len(columns))
    found = np.zeros((cluster.domains, width), np.int64)
    found[listed[:, 0] - first] = listed[:, 1:]
    return found.view(np.uint64)


def _closed(connection: Connection, cluster: int) -> list[tuple[int, int]]:
    """Ordinals of domain and server."""
    closing, server, domain = _T["closing"], _T["server"], _T["domain"]
    query = (
        select(domain.c.ordinal, server.c.ordinal)
        .select_from(closing)
        .join(server, server.c.id == closing.c.server_id)
        .join(domain, domain.c.id == server.c.domain_id)
        .where(closing.c.until.is_(None), domain.c.cluster_id == cluster)
    )
    return [(row[0], row[1]) for row in connection.execute(query)]


def _damage(connection: Connection, cluster: Any, model: Model) -> Damage:  # of a row
    node, link = _T["node"], _T["link"]
    parts: list[tuple[tuple[int, ...], Any]] = [
        ((row.id,), row)
        for row in connection.execute(select(node).where(is_not_up(node), among_lost(connection, node)))
    ]
    worn = select(link).where(is_not_up(link), among_lost(connection, link))  # by its index: _local sorts out the rest
    parts += [((row.a_id, row.b_id), row) for row in connection.execute(worn)]
    left = ((ids, (row.factor_ppm or PPM) if row.state in CARRYING else 0) for ids, row in parts)
    return _local(cluster, model, left)


def _supposed(reader: Reader, cluster: Any, model: Model) -> Damage:  # of a row
    link, changes = _T["link"], reader.changes
    keys = list(changes.links)
    ends = reader.connection.execute(select(link).where(link.c.id.in_(keys))) if keys else ()
    nodes = (((node,), left) for node, left in changes.nodes.items())
    return _local(cluster, model, [*nodes, *(((row.a_id, row.b_id), changes.links[row.id]) for row in ends)])


def _local(cluster: Any, model: Model, parts: Iterable[tuple[tuple[int, ...], int]]) -> Damage:  # of a row
    """By domain and local numbers, of nodes and links by their ids; what is elsewhere is left out."""
    found: dict[int, dict[Part, int]] = {}
    for ids, left in parts:
        places = [divmod(key - cluster.first_node_id, model.nodes) for key in ids]
        rows = {row for row, _ in places}
        if len(rows) > 1 or not 0 <= min(rows) < cluster.domains:
            continue
        local = tuple(sorted(at for _, at in places))
        key: Part = local[0] if len(local) == 1 else (local[0], local[1])
        of = found.setdefault(min(rows), {})
        of[key] = min(left, of.get(key, PPM))
    return found


def _damaged(stock: Stock, more: Damage) -> Stock:
    """With more damage than it has."""
    up, damage = stock.up.copy(), {row: dict(parts) for row, parts in stock.damage.items()}
    for row, parts in more.items():
        of = damage.setdefault(row, {})
        for part, left in parts.items():
            of[part] = min(left, of.get(part, PPM))
        down = sum(1 << part for part, left in parts.items() if isinstance(part, int) and not left)
        up[row] &= ~words([down & stock.model.full], stock.model.chips)[0]
    return replace(stock, up=up, damage=damage)


def _chips(connection: Connection, place: Place, cluster: Any, of: Stock) -> Words:  # of a row
    """The chips of a place, in the rows of its cluster."""
    if place.level == "cluster":
        return of.inside
    return sets_of(connection.scalars(chips_of(place)), cluster, of.model)
