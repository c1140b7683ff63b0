"""Infer which slot each machine is in, for ``trninv infer-bindings``.

A slot is a server's place in the design; a binding records the instance in it. Machines of one UltraServer or capacity
block fill one domain. The first of these that leads to a domain decides: machines of the group that are bound already,
host names that match those of slots, the network node above the machines, or that no other domain has enough free
slots. Within a domain, ring positions decide first. This module only reads the database: its callers record the
proposed bindings.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from types import MappingProxyType
from typing import Final

from sqlalchemy import Connection, select

from trninv.catalog.instance_types import UnclaimedType, count_unclaimed_types
from trninv.database.tables import TABLES
from trninv.inventory.address.hostnames import DEFAULT_TEMPLATE
from trninv.inventory.address.lookup import Place
from trninv.inventory.state.bindings import Binding, ProposedBinding, list_bindings
from trninv.reconcile.domain_assignment import DomainAssigner, UnassignedMachine, slot_for_host
from trninv.reconcile.latest_observations import (
    LatestObservations,
    Machine,
    has_valid_name,
    load_latest_observations,
    valid_host_name,
)
from trninv.reconcile.machine_groups import (
    Slot,
    group_machines,
    instance_type_of,
    load_chip_counts,
    load_slots,
    recent_machines,
)
from trninv.reconcile.missing_machines import missing_machines
from trninv.reconcile.slot_assignment import assign_slots

_BINDING = TABLES["binding"]
MACHINE_EXPIRY: Final = timedelta(hours=24)
"""A machine is treated as gone if it was last observed more than this before the latest of all observations."""
_NO_CHIPS: Final[Mapping[str, int]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Identification:
    """Inferred bindings, new or renewed, and the machines without a slot.

    Attributes
    ----------
    unclaimed_types
        Instance types that no model in the catalog claims; their machines get no slot.
    unlisted_count
        Number of machines without a slot that are not among ``unassigned``, as they may belong to another cluster.

    """

    proposed_bindings: tuple[ProposedBinding, ...]
    unassigned: tuple[UnassignedMachine, ...]
    unclaimed_types: tuple[UnclaimedType, ...] = ()
    unlisted_count: int = 0


def identify(
    connection: Connection,
    place: Place | None = None,
    *,
    template: str = DEFAULT_TEMPLATE,
    expiry: timedelta = MACHINE_EXPIRY,
    in_order: bool = False,
) -> Identification:
    """Propose slots for machines that have none, and new bindings of machines whose names changed.

    Parameters
    ----------
    place
        The cluster whose slots are used; None means all clusters.
    template
        The template that derives a host name from each slot.
    expiry
        A machine is treated as gone if it was last observed more than this before the latest of all observations.
    in_order
        Whether machines that fit several domains or slots equally well are assigned in order.

    Raises
    ------
    UsageError, NotExpressibleError
        The template is invalid.

    """
    all_slots, open_bindings = load_slots(connection, place), list(list_bindings(connection))
    latest = load_latest_observations(connection)
    identification = match_machines(
        all_slots,
        open_bindings,
        latest,
        load_chip_counts(connection, recent_machines(latest, expiry)),
        missing_machines(connection, latest, only_discovered=True).keys(),
        template=template,
        expiry=expiry,
        in_order=in_order,
        covers_all_slots=place is None,
    )
    return drop_undone_inferences(connection, identification)


def drop_undone_inferences(connection: Connection, identification: Identification) -> Identification:
    """Drop proposed bindings that a person undid before; their machines become unassigned."""
    undone = _undone_inferences(connection)
    repeated = [entry for entry in identification.proposed_bindings if _inference_key(entry) in undone]
    unassigned = [
        UnassignedMachine(
            entry.instance or entry.host or "", "this binding was undone before; bind it by hand", (entry.address,), 1
        )
        for entry in repeated
    ]
    return Identification(
        tuple(entry for entry in identification.proposed_bindings if entry not in repeated),
        tuple(sorted([*identification.unassigned, *unassigned], key=lambda entry: entry.name)),
        identification.unclaimed_types,
        identification.unlisted_count,
    )


def match_machines(
    slots: Sequence[Slot],
    open_bindings: Sequence[Binding],
    latest: LatestObservations,
    chips: Mapping[str, int] = _NO_CHIPS,
    missing: Collection[str] = (),
    *,
    template: str = DEFAULT_TEMPLATE,
    expiry: timedelta = MACHINE_EXPIRY,
    in_order: bool = False,
    covers_all_slots: bool = True,
) -> Identification:
    """Match machines to slots by open bindings and observations, regardless of bindings that a person undid.

    Parameters
    ----------
    chips
        Numbers of chips by machine name, if observed, for machines whose instance type several models claim.
    missing
        Names of machines that complete listings show to be gone. They get no slot, and give theirs to new machines of
        their group.
    covers_all_slots
        Whether ``slots`` are all slots of the inventory; if not, a machine may belong to a slot that is not among them.

    """
    machines = [entry for entry in recent_machines(latest, expiry) if has_valid_name(entry)]
    attached = attach_bindings(machines, slots, open_bindings, latest)
    present = [(machine, slot) for machine, slot in attached if slot or machine.name not in missing]
    groups = group_machines(present, {slot.model: slot.servers for slot in slots}, chips, missing)
    assigner = DomainAssigner(
        slots, {entry.server_id for entry in open_bindings}, template, covers_all_slots=covers_all_slots
    )
    for member in (member for group in groups for member in group.unbound if instance_type_of(member.machine) is None):
        # its name alone decides: `assign_slots` gives it no other slot
        if (slot := slot_for_host(member, assigner.slots_by_hostname)) and slot in assigner.free_slots[slot.domain]:
            member.domain_models = frozenset([slot.model])
    unclaimed_machines = [entry.machine for group in groups for entry in group.unbound if entry.is_unclaimed]
    proposals, unassigned = list[ProposedBinding](), list[UnassignedMachine]()
    for group, assignment in assigner.assign(groups, in_order=in_order):
        group_proposals, group_unassigned = assign_slots(
            group, assignment, assigner.free_slots[assignment.domain], assigner.slots_by_hostname, in_order=in_order
        )
        proposals += group_proposals
        unassigned += group_unassigned
    bound_ids = {entry.server_id for entry in proposals}
    renamed = [entry for entry in _renamed_bindings(open_bindings, slots, latest) if entry.server_id not in bound_ids]
    types = count_unclaimed_types(name for entry in unclaimed_machines if (name := instance_type_of(entry)))
    return Identification((*renamed, *proposals), (*assigner.unassigned, *unassigned), types, assigner.unlisted_count)


def attach_bindings(
    machines: Iterable[Machine], slots: Sequence[Slot], open_bindings: Iterable[Binding], latest: LatestObservations
) -> Iterator[tuple[Machine, Slot | None]]:
    """Yield each machine with its slot, or None if it is unbound; skip machines in slots other than ``slots``."""
    by_id, server_by_machine = {slot.id: slot for slot in slots}, latest.bound_machines(open_bindings)
    for machine in machines:
        if machine not in server_by_machine:
            yield machine, None
        elif (slot := by_id.get(server_by_machine[machine])) is not None:
            yield machine, slot


def _renamed_bindings(
    open_bindings: Iterable[Binding], slots: Iterable[Slot], latest: LatestObservations
) -> Iterator[ProposedBinding]:
    """Yield current bindings again with the instance and host names that are now observed, where the names changed."""
    slot_ids = {slot.id for slot in slots}
    for binding in open_bindings:
        machine = latest.find_machine(binding.instance or binding.host) if binding.server_id in slot_ids else None
        if machine is None or not has_valid_name(machine):
            continue
        names = machine.instance or binding.instance, valid_host_name(machine) or binding.host
        if names != (binding.instance, binding.host):
            yield ProposedBinding(
                binding.server_id, binding.address, *names, binding.method, binding.confidence, binding.evidence
            )


_InferenceKey = tuple[str, str | None, str, str | None]


def _inference_key(binding: ProposedBinding | Binding) -> _InferenceKey:
    """Return the key of an inference: slot, machine, method and evidence."""
    return binding.address, binding.instance or binding.host, binding.method, binding.evidence


def _undone_inferences(connection: Connection) -> set[_InferenceKey]:
    """Return the keys of inferences that a person undid."""
    columns = (_BINDING.c.address, _BINDING.c.instance, _BINDING.c.host, _BINDING.c.method, _BINDING.c.evidence)
    rows = connection.execute(select(*columns).where(_BINDING.c.ending == "undone", _BINDING.c.evidence.is_not(None)))
    return {(row.address, row.instance or row.host, row.method, row.evidence) for row in rows}
