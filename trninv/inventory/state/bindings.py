"""Bind instances to slots and keep the history of bindings.

A slot is a server's place in the design, an instance the machine that runs there. `trninv bind` and `trninv unbind`
change bindings by hand, `trninv.reconcile` changes them from observations. A slot, an instance and a host have at most
one open binding each; ended bindings are kept.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass, fields, replace
from typing import Any, Final

from sqlalchemy import Connection, Row, Select, bindparam, select, update

from trninv.database.bulk_load import bulk_insert
from trninv.database.bulk_read import batches
from trninv.database.id_blocks import next_id
from trninv.database.tables import TABLES
from trninv.errors import UnknownAddressError, UsageError, WrongLevelError
from trninv.inventory.address.lookup import Place, resolve_place
from trninv.inventory.address.machine_names import is_host_name, is_instance_id
from trninv.inventory.address.rows_in import rows_in
from trninv.inventory.state.author import check_author
from trninv.rendered_text import Rendered, RenderedTable
from trninv.units import current_timestamp

_BINDING = TABLES["binding"]
_IS_OPEN = _BINDING.c.ended_at.is_(None)
_MAX_SHOWN: Final = 60
"""The maximum number of characters of an invalid name that a message repeats."""


@dataclass(frozen=True, slots=True)
class ProposedBinding:
    """An instance to bind to a slot, or a host whose instance is unknown, with the method and evidence.

    `server_id` and `address` name the slot.
    """

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

    def render(self) -> Rendered:
        """Yield a table of the new bindings, and a line for each binding that ended."""
        if self.created:
            cells = ([getattr(binding, name) for name in _CREATED_COLUMNS.values()] for binding in self.created)
            yield RenderedTable(tuple(_CREATED_COLUMNS), cells)
        for binding in self.ended:
            yield f"{binding.address}: {machine_name(binding)} is no longer bound ({binding.ending})"


_CREATED_COLUMNS: Final = {
    "slot": "address",
    "instance": "instance",
    "host": "host",
    "method": "method",
    "confidence": "confidence",
    "by": "evidence",
}
"""Fields of a new binding by the header of their column."""


def machine_name(binding: Binding | ProposedBinding) -> str:
    """Return the instance and the host of a binding, as far as they are known, as text for people."""
    return " ".join(filter(None, (binding.instance, binding.host)))


def resolve_slot(connection: Connection, address: str) -> Place:
    """Return the server that an address names.

    Raises
    ------
    WrongLevelError
        The address names something else.
    """
    place = resolve_place(connection, address)
    if place.level != "server":
        raise WrongLevelError(
            f"{place.address} is a {place.level.replace('_', ' ')}: name a server, since instances are bound to servers"
        )
    return place


def bind(connection: Connection, proposals: Sequence[ProposedBinding], *, who: str) -> BindingChanges:
    """Store bindings in a fixed number of statements, and skip those that exist already.

    A new binding ends the open one of its slot and the open one of its instance (of its host, where an instance is
    unknown). If another instance keeps the host name, the new binding has no host name.

    Raises
    ------
    UsageError
        A name is not valid for an instance or a host, or a slot or instance appears twice.
    """
    _check_proposals(proposals, who)
    open_bindings = _OpenBindings(connection.execute(select(_BINDING).where(_IS_OPEN)))
    now, first_id = current_timestamp(), next_id(connection, _BINDING)
    created, ended = list[Binding](), dict[int, Binding]()
    for proposal in proposals:
        previous = open_bindings.superseded(proposal)
        host = open_bindings.available_host(proposal, previous)
        binding = Binding(
            proposal.server_id,
            proposal.address,
            proposal.instance,
            host,
            started_at=now,
            ended_at=None,
            method=proposal.method,
            confidence=proposal.confidence,
            evidence=proposal.evidence,
            who=who,
            ending=None,
            ended_by=None,
        )
        if any(_is_same(open_bindings.by_id[key], binding) for key in previous):
            continue
        for key, reason in previous.items():
            ended[key] = replace(open_bindings.by_id[key], ended_at=now, ending=reason, ended_by=who)
        created.append(binding)
    _store_ends(connection, ended)
    bulk_insert(connection, _BINDING, [(key, *astuple(binding)) for key, binding in enumerate(created, first_id)])
    return BindingChanges(tuple(created), tuple(ended.values()))


def unbind(connection: Connection, address: str, *, who: str) -> Binding:
    """End the open binding of a slot by hand; `trninv.reconcile` does not create it again from the same evidence.

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
    binding = replace(_binding_from_row(row), ended_at=current_timestamp(), ending="undone", ended_by=who)
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
        query = query.where(rows_in(place, "binding"))
    if not ended:
        query = query.where(_IS_OPEN)
    return (Binding(*row) for row in connection.execute(query))


def bound_machines(connection: Connection, addresses: Iterable[str]) -> Iterator[tuple[str, str | None, str | None]]:
    """Yield address, instance and host of every bound server among `addresses`, ordered by address."""
    columns = (_BINDING.c.address, _BINDING.c.instance, _BINDING.c.host)
    for batch in batches(sorted(set(addresses))):
        query = select(*columns).where(_IS_OPEN, _BINDING.c.address.in_(batch)).order_by(_BINDING.c.address)
        yield from map(tuple, connection.execute(query))


def _binding_from_row(row: Row[Any]) -> Binding:
    """Return the binding in a row of the table, whose columns after the id are the fields of `Binding`."""
    columns: tuple[Any, ...] = tuple(row)[1:]
    return Binding(*columns)


class _OpenBindings:
    """Open bindings, indexed by id, slot, instance and host."""

    def __init__(self, rows: Iterable[Row[Any]]) -> None:
        self.by_id = {row.id: _binding_from_row(row) for row in rows}
        self._id_by_server, self._id_by_instance, self._id_by_host = map(self._index, ("server_id", "instance", "host"))
        self._new_hosts = set[str]()

    def _index(self, field: str) -> dict[Any, int]:
        """Return the ids of bindings by the value of a field; bindings where it is None are left out."""
        ids_by_value = {getattr(binding, field): key for key, binding in self.by_id.items()}
        ids_by_value.pop(None, None)
        return ids_by_value

    def superseded(self, proposal: ProposedBinding) -> dict[int, str]:
        """Return the ids of the open bindings that a new binding ends, with the reason for each."""
        ids = dict.fromkeys(
            (
                self._id_by_server.get(proposal.server_id),
                self._id_by_instance.get(proposal.instance or ""),
                self._id_by_host.get(proposal.host or ""),
            )
        )
        reasons = {key: _end_reason(self.by_id[key], proposal) for key in ids if key is not None}
        return {key: reason for key, reason in reasons.items() if reason}

    def available_host(self, proposal: ProposedBinding, superseded_ids: Collection[int]) -> str | None:
        """Return the host name of a new binding; None if it has none, or if another open or new binding has it."""
        if proposal.host is None or proposal.host in self._new_hosts:
            return None
        current = self._id_by_host.get(proposal.host)
        if current is not None and current not in superseded_ids:
            return None
        self._new_hosts.add(proposal.host)
        return proposal.host


def _end_reason(previous: Binding, proposal: ProposedBinding) -> str | None:
    """Return why a new binding ends an open one, or None if it does not."""
    if previous.instance is None or proposal.instance is None:  # without both ids, only the hosts can be compared
        is_same_machine = previous.host is not None and previous.host == proposal.host
    else:
        is_same_machine = previous.instance == proposal.instance
    if previous.server_id == proposal.server_id:
        return "renewed" if is_same_machine else "replaced"
    return "moved" if is_same_machine else None


def _is_same(one: Binding, other: Binding) -> bool:
    """Return whether two bindings link the same slot and machine by the same method."""
    names = ("server_id", "address", "instance", "host", "method")
    return all(getattr(one, name) == getattr(other, name) for name in names)


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
            raise UsageError(f"{proposal.instance[:_MAX_SHOWN]!r} is not an instance id: write it as i-0abc")
        if proposal.host is not None and not is_host_name(proposal.host, instance=proposal.instance):
            raise UsageError(
                f"{proposal.host[:_MAX_SHOWN]!r} is not a host name: use letters, digits, '.', '_' and '-'"
            )
        if proposal.instance is None and proposal.host is None:
            raise UsageError(f"{proposal.address}: name the instance or the host to bind to it")
    for names in (
        [proposal.server_id for proposal in proposals],
        [proposal.instance or proposal.host for proposal in proposals],
    ):
        if len(set(names)) < len(names):
            raise UsageError("a slot or an instance appears twice: bind each only once")
