"""Bind instances to slots and keep the history of bindings.

A slot, an instance and a host have at most one open binding each; ended bindings are kept.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass, fields, replace
from operator import attrgetter
from typing import Any, Final

from sqlalchemy import Connection, Row, Select, bindparam, select, update

from trninv.database.bulk_load import bulk_insert
from trninv.database.id_blocks import next_id
from trninv.database.tables import TABLES
from trninv.errors import UnknownAddressError, UsageError, WrongLevelError
from trninv.inventory.address.expressions import address_expression
from trninv.inventory.address.lookup import Place, resolve_place
from trninv.inventory.address.machine_names import is_host_name, is_instance_id
from trninv.inventory.state.author import check_author
from trninv.units import current_timestamp

_BINDING, _SERVER, _DOMAIN, _CLUSTER = (TABLES[name] for name in ("binding", "server", "domain", "cluster"))
_IS_OPEN = _BINDING.c.ended_at.is_(None)
_MAX_SHOWN: Final = 60
_BATCH_SIZE: Final = 500


@dataclass(frozen=True, slots=True)
class ProposedBinding:
    """An instance to bind to a slot, or a host whose instance is unknown, with the method and evidence."""

    server_id: int
    address: str
    instance: str | None
    host: str | None
    method: str
    confidence: str
    evidence: str | None = None


@dataclass(frozen=True, slots=True)
class Binding:
    """A stored binding; times are UTC, `ended_at` None while it is open."""

    server_id: int
    address: str
    instance: str | None
    host: str | None
    started_at: str
    ended_at: str | None
    method: str
    confidence: str
    evidence: str | None
    who: str
    ending: str | None
    ended_by: str | None


@dataclass(frozen=True, slots=True)
class BindingChanges:
    """The bindings that a call created and those that it ended."""

    created: tuple[Binding, ...] = ()
    ended: tuple[Binding, ...] = ()


def resolve_slot(connection: Connection, address: str) -> Place:
    """Return the server that an address names.

    Raises
    ------
    WrongLevelError
        The address names something else.
    """
    place = resolve_place(connection, address)
    if place.level != "server":
        raise WrongLevelError(f"{place.address} is a {place.level.replace('_', ' ')}: an instance stands in a server")
    return place


def bind(connection: Connection, proposals: Sequence[ProposedBinding], *, who: str) -> BindingChanges:
    """Store bindings, in a fixed number of statements; bindings that exist already are skipped.

    A new binding ends the open one of its slot and the open one of its instance. If another instance keeps the host
    name, the new binding has no host name.

    Raises
    ------
    UsageError
        A name is not valid for an instance or a host, or a slot or instance appears twice.
    """
    _check_proposals(proposals, who)
    open_bindings = _OpenBindings(connection.execute(select(_BINDING).where(_IS_OPEN)))
    time, first = current_timestamp(), next_id(connection, _BINDING)
    created, ended = list[Binding](), dict[int, Binding]()
    for proposal in proposals:
        previous = open_bindings.superseded(proposal)
        host = open_bindings.available_host(proposal, previous)
        names = proposal.server_id, proposal.address, proposal.instance, host
        if any(
            (*_slot_and_machine(open_bindings.open[key]), open_bindings.open[key].method) == (*names, proposal.method)
            for key in previous
        ):
            continue
        ended |= {
            key: replace(open_bindings.open[key], ended_at=time, ending=why, ended_by=who)
            for key, why in previous.items()
        }
        provenance = proposal.method, proposal.confidence, proposal.evidence
        created.append(Binding(*names, time, None, *provenance, who, None, None))
    _store_ends(connection, ended)
    bulk_insert(connection, _BINDING, [(first + number, *astuple(binding)) for number, binding in enumerate(created)])
    return BindingChanges(tuple(created), tuple(ended.values()))


def unbind(connection: Connection, address: str, *, who: str) -> Binding:
    """End the open binding of a slot by hand; the same evidence does not create it again.

    Raises
    ------
    UnknownAddressError
        Nothing is bound to the slot.
    """
    place = resolve_slot(connection, address)
    check_author(who)
    row = connection.execute(select(_BINDING).where(_IS_OPEN, _BINDING.c.server_id == place.id)).first()
    if row is None:
        raise UnknownAddressError(f"no instance is bound to {place.address}: trninv bindings lists those that are")
    binding = replace(_read(row), ended_at=current_timestamp(), ending="undone", ended_by=who)
    _store_ends(connection, {row.id: binding})
    return binding


def end_bindings(connection: Connection, servers: Select[Any], *, who: str) -> None:
    """End all open bindings of servers that are about to be removed."""
    query = update(_BINDING).where(_IS_OPEN, _BINDING.c.server_id.in_(servers))
    connection.execute(query.values(ended_at=current_timestamp(), ending="unseeded", ended_by=who))


def list_bindings(connection: Connection, place: Place | None = None, *, ended: bool = False) -> Iterator[Binding]:
    """Return the open bindings of a place's slots, in the order of slots; with `ended`, also the ended ones, oldest
    first.

    Raises
    ------
    WrongLevelError
        The place contains no servers.
    """
    query = select(*(_BINDING.c[field.name] for field in fields(Binding))).order_by(_BINDING.c.server_id, _BINDING.c.id)
    if place is not None:
        query = query.where(_BINDING.c.address.in_(slot_addresses(place)))
    if not ended:
        query = query.where(_IS_OPEN)
    return (Binding(*row) for row in connection.execute(query))


def bound_machines(connection: Connection, addresses: Iterable[str]) -> Iterator[tuple[str, str | None, str | None]]:
    """Yield address, instance and host of every bound server among `addresses`, ordered by address."""
    batch, columns = sorted(set(addresses)), (_BINDING.c.address, _BINDING.c.instance, _BINDING.c.host)
    for first in range(0, len(batch), _BATCH_SIZE):
        some = _BINDING.c.address.in_(batch[first : first + _BATCH_SIZE])
        query = select(*columns).where(_IS_OPEN, some).order_by(_BINDING.c.address)
        yield from map(tuple, connection.execute(query))


def slot_addresses(place: Place) -> Select[Any]:
    """Return a query of the addresses of the servers at or below a place.

    Raises
    ------
    WrongLevelError
        The place contains no servers.
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
    return select(address_expression("server")).select_from(joined).where(column == place.id)


def _read(row: Row[Any]) -> Binding:
    columns: tuple[Any, ...] = tuple(row)[1:]
    return Binding(*columns)


class _OpenBindings:
    """Open bindings, indexed by id, slot, instance and host."""

    def __init__(self, rows: Iterable[Row[Any]]) -> None:
        self.open = {row[0]: _read(row) for row in rows}
        self._server, self._instance, self._host = (
            {value: key for key, binding in self.open.items() if (value := column(binding)) is not None}
            for column in map(attrgetter, ("server_id", "instance", "host"))
        )
        self.used_hosts = set[str]()

    def superseded(self, proposal: ProposedBinding) -> dict[int, str]:
        """Return the ids of the bindings that a new one ends, each with the reason."""
        keys_found = (
            self._server.get(proposal.server_id),
            self._instance.get(proposal.instance or ""),
            self._host.get(proposal.host or ""),
        )
        keys = dict.fromkeys(key for key in keys_found if key is not None)
        return {key: why for key in keys if (why := _end_reason(self.open[key], proposal))}

    def available_host(self, proposal: ProposedBinding, superseded_: Collection[int]) -> str | None:
        """Return the host name of a new binding, or None if another binding keeps it."""
        holder = self._host.get(proposal.host or "")
        if proposal.host is None or proposal.host in self.used_hosts or not (holder is None or holder in superseded_):
            return None
        self.used_hosts.add(proposal.host)
        return proposal.host


def _end_reason(previous: Binding, proposal: ProposedBinding) -> str | None:
    """Return why a new binding ends an open one, or None if it does not."""
    if previous.instance is None or proposal.instance is None:
        is_same = previous.host is not None and previous.host == proposal.host
    else:
        is_same = previous.instance == proposal.instance
    if previous.server_id == proposal.server_id:
        return "renewed" if is_same else "replaced"
    return "moved" if is_same else None


def _slot_and_machine(binding: Binding) -> tuple[int, str, str | None, str | None]:
    return binding.server_id, binding.address, binding.instance, binding.host


def _store_ends(connection: Connection, ended: dict[int, Binding]) -> None:
    if not ended:
        return
    query = update(_BINDING).where(_BINDING.c.id == bindparam("key"))
    columns = ("ended_at", "ending", "ended_by")
    values = [
        {"key": key} | {f"new_{name}": getattr(binding, name) for name in columns} for key, binding in ended.items()
    ]
    connection.execute(query.values({name: bindparam(f"new_{name}") for name in columns}), values)


def _check_proposals(proposals: Sequence[ProposedBinding], who: str) -> None:
    check_author(who)
    for proposal in proposals:
        if proposal.instance is not None and not is_instance_id(proposal.instance):
            raise UsageError(f"{proposal.instance[:_MAX_SHOWN]!r} is no instance's id: write it as i-0abc")
        if proposal.host is not None and not is_host_name(proposal.host, instance=proposal.instance):
            raise UsageError(
                f"{proposal.host[:_MAX_SHOWN]!r} is no host's name: it has letters, digits, '.', '_' and '-'"
            )
        if proposal.instance is None and proposal.host is None:
            raise UsageError(f"name the instance or the host that stands in {proposal.address}")
    for names in (
        [proposal.server_id for proposal in proposals],
        [proposal.instance or proposal.host for proposal in proposals],
    ):
        if len(set(names)) < len(names):
            raise UsageError("a slot or an instance comes twice: each has one place")
