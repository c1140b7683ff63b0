"""Which instance stands in which slot (a server's place in the design), since when, and how that is known.

A slot, an instance and a host have at most one open binding each; what was is kept for ever.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass, fields, replace
from operator import attrgetter
from typing import Any, Final

from sqlalchemy import Connection, Row, Select, bindparam, select, update

from trninv.errors import UnknownAddressError, UsageError, WrongLevelError
from trninv.inventory.address import Place, address_of, resolve
from trninv.inventory.author import check_author
from trninv.inventory.bulk import load
from trninv.inventory.ids import next_id
from trninv.inventory.named import is_host, is_instance
from trninv.inventory.schema import TABLES
from trninv.timestamps import current_timestamp

_BINDING, _SERVER, _DOMAIN, _CLUSTER = (TABLES[name] for name in ("binding", "server", "domain", "cluster"))
_IS_OPEN = _BINDING.c.until.is_(None)
_MAX_SHOWN: Final = 60
_AT_ONCE: Final = 500


@dataclass(frozen=True, slots=True)
class Standing:
    """That an instance, or a host whose instance is not known, stands in a slot, and how that is known."""

    server_id: int
    address: str
    instance: str | None
    host: str | None
    how: str
    confidence: str
    evidence: str | None = None


@dataclass(frozen=True, slots=True)
class Binding:
    """The same as it was written down; times are UTC."""

    server_id: int
    address: str
    instance: str | None
    host: str | None
    since: str
    until: str | None
    how: str
    confidence: str
    evidence: str | None
    who: str
    ending: str | None
    ended_by: str | None


@dataclass(frozen=True, slots=True)
class Bound:
    """Bindings that were made, and those that they ended."""

    made: tuple[Binding, ...] = ()
    ended: tuple[Binding, ...] = ()


def server_at(connection: Connection, address: str) -> Place:
    """The server that an address names.

    Raises
    ------
    WrongLevelError
        It names something else.

    """
    place = resolve(connection, address)
    if place.level != "server":
        raise WrongLevelError(f"{place.address} is a {place.level.replace('_', ' ')}: an instance stands in a server")
    return place


def put(connection: Connection, standings: Sequence[Standing], *, who: str) -> Bound:
    """Write bindings, in a number of statements that does not grow with them; what is so already is left alone.

    Whatever stood in a slot before ends, and where the instance stood. A host's name that another instance keeps stays
    with that one.

    Raises
    ------
    UsageError
        A name that no instance or host can have, or a slot or an instance that comes twice.
    LimitError
        Nobody is named who says so.

    """
    _check(standings, who)
    held = _Held(connection.execute(select(_BINDING).where(_IS_OPEN)))
    at, first = current_timestamp(), next_id(connection, _BINDING)
    made, ended = list[Binding](), dict[int, Binding]()
    for standing in standings:
        before = held.before(standing)
        host = held.host_of(standing, before)
        names = standing.server_id, standing.address, standing.instance, host
        if any((*_names(held.open[key]), held.open[key].how) == (*names, standing.how) for key in before):
            continue
        ended |= {key: replace(held.open[key], until=at, ending=why, ended_by=who) for key, why in before.items()}
        given = standing.how, standing.confidence, standing.evidence
        made.append(Binding(*names, at, None, *given, who, None, None))
    _end(connection, ended)
    load(connection, _BINDING, [(first + number, *astuple(each)) for number, each in enumerate(made)])
    return Bound(tuple(made), tuple(ended.values()))


def take_out(connection: Connection, address: str, *, who: str) -> Binding:
    """End what stands in a slot, because a person says so; an inference is not made again from the same.

    Raises
    ------
    UnknownAddressError
        Nothing stands there.

    """
    place = server_at(connection, address)
    check_author(who)
    row = connection.execute(select(_BINDING).where(_IS_OPEN, _BINDING.c.server_id == place.id)).first()
    if row is None:
        raise UnknownAddressError(f"no instance is bound to {place.address}: trninv bindings lists those that are")
    found = replace(_read(row), until=current_timestamp(), ending="undone", ended_by=who)
    _end(connection, {row.id: found})
    return found


def end_all(connection: Connection, servers: Select[Any], *, who: str) -> None:
    """End every binding of servers that are about to go."""
    ours = update(_BINDING).where(_IS_OPEN, _BINDING.c.server_id.in_(servers))
    connection.execute(ours.values(until=current_timestamp(), ending="unseeded", ended_by=who))


def bindings(connection: Connection, place: Place | None = None, *, ended: bool = False) -> Iterator[Binding]:
    """Bindings of a place's slots, in the order of the slots; those that have ended come first of theirs, if asked for.

    Raises
    ------
    WrongLevelError
        The place holds no servers.

    """
    query = select(*(_BINDING.c[field.name] for field in fields(Binding))).order_by(_BINDING.c.server_id, _BINDING.c.id)
    if place is not None:
        query = query.where(_BINDING.c.address.in_(slots(place)))
    if not ended:
        query = query.where(_IS_OPEN)
    return (Binding(*row) for row in connection.execute(query))


def standing_at(connection: Connection, addresses: Iterable[str]) -> Iterator[tuple[str, str | None, str | None]]:
    """Address, instance and host of what stands at servers, in the order of addresses."""
    wanted, columns = sorted(set(addresses)), (_BINDING.c.address, _BINDING.c.instance, _BINDING.c.host)
    for first in range(0, len(wanted), _AT_ONCE):
        some = _BINDING.c.address.in_(wanted[first : first + _AT_ONCE])
        query = select(*columns).where(_IS_OPEN, some).order_by(_BINDING.c.address)
        yield from map(tuple, connection.execute(query))


def slots(place: Place) -> Select[Any]:
    """Addresses of the servers that a place is or holds.

    Raises
    ------
    WrongLevelError
        It holds none.

    """
    column = {
        "server": _SERVER.c.id,
        "rack": _SERVER.c.rack_id,
        "domain": _SERVER.c.domain_id,
        "cluster": _DOMAIN.c.cluster_id,
    }.get(place.level)
    if column is None:
        level = place.level.replace("_", " ")
        raise WrongLevelError(f"{place.address} is a {level}: name a server, rack, domain or cluster")
    joined = _SERVER.join(_DOMAIN, _DOMAIN.c.id == _SERVER.c.domain_id).join(
        _CLUSTER, _CLUSTER.c.id == _DOMAIN.c.cluster_id
    )
    return select(address_of("server")).select_from(joined).where(column == place.id)


def _read(row: Row[Any]) -> Binding:
    columns: tuple[Any, ...] = tuple(row)[1:]
    return Binding(*columns)


class _Held:
    """Open bindings, by their keys, and by what no two of them share."""

    def __init__(self, rows: Iterable[Row[Any]]) -> None:
        self.open = {row[0]: _read(row) for row in rows}
        self._server, self._instance, self._host = (
            {value: key for key, each in self.open.items() if (value := column(each)) is not None}
            for column in map(attrgetter, ("server_id", "instance", "host"))
        )
        self._taken = set[str]()

    def before(self, standing: Standing) -> dict[int, str]:
        """Keys of what a new binding ends, and why."""
        found = (
            self._server.get(standing.server_id),
            self._instance.get(standing.instance or ""),
            self._host.get(standing.host or ""),
        )
        keys = dict.fromkeys(key for key in found if key is not None)
        return {key: why for key in keys if (why := _ending(self.open[key], standing))}

    def host_of(self, standing: Standing, before: Collection[int]) -> str | None:
        """The host's name that a new binding may have."""
        holder = self._host.get(standing.host or "")
        if standing.host is None or standing.host in self._taken or not (holder is None or holder in before):
            return None
        self._taken.add(standing.host)
        return standing.host


def _ending(before: Binding, standing: Standing) -> str | None:
    """Why an open binding ends; None if it does not."""
    if before.instance is None or standing.instance is None:
        is_same = before.host is not None and before.host == standing.host
    else:
        is_same = before.instance == standing.instance
    if before.server_id == standing.server_id:
        return "renewed" if is_same else "replaced"
    return "moved" if is_same else None


def _names(of: Binding) -> tuple[int, str, str | None, str | None]:
    return of.server_id, of.address, of.instance, of.host


def _end(connection: Connection, ended: dict[int, Binding]) -> None:
    if not ended:
        return
    query = update(_BINDING).where(_BINDING.c.id == bindparam("key"))
    columns = ("until", "ending", "ended_by")
    values = [{"key": key} | {f"new_{name}": getattr(each, name) for name in columns} for key, each in ended.items()]
    connection.execute(query.values({name: bindparam(f"new_{name}") for name in columns}), values)


def _check(standings: Sequence[Standing], who: str) -> None:
    check_author(who)
    for each in standings:
        if each.instance is not None and not is_instance(each.instance):
            raise UsageError(f"{each.instance[:_MAX_SHOWN]!r} is no instance's id: write it as i-0abc")
        if each.host is not None and not is_host(each.host, of=each.instance):
            raise UsageError(f"{each.host[:_MAX_SHOWN]!r} is no host's name: it has letters, digits, '.', '_' and '-'")
        if each.instance is None and each.host is None:
            raise UsageError(f"name the instance or the host that stands in {each.address}")
    for names in ([each.server_id for each in standings], [each.instance or each.host for each in standings]):
        if len(set(names)) < len(names):
            raise UsageError("a slot or an instance comes twice: each has one place")
