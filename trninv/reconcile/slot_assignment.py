"""Assign the machines of a group to the slots of its domain.

`domain_assignment` or `growth_plan` chose the domain; a slot is a server's place in it. Ring positions decide first,
then host names; a single remaining machine gets a single remaining slot.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from trninv.inventory.state.bindings import ProposedBinding
from trninv.reconcile.domain_assignment import DomainAssignment, UnassignedMachine, slot_for_host
from trninv.reconcile.latest_observations import valid_host_name
from trninv.reconcile.machine_groups import ULTRASERVER, GroupMember, MachineGroup, Slot, instance_type_of
from trninv.reconcile.ring_order import matching_orders, server_ring

_CONFIDENCE_ORDER: Final = ("certain", "likely", "interchangeable")
"""From most to least confident; machines are interchangeable if they fit several slots equally well."""


def assign_slots(
    group: MachineGroup,
    assignment: DomainAssignment,
    free_slots: list[Slot],
    slots_by_hostname: Mapping[str, Slot],
    *,
    in_order: bool,
) -> tuple[list[ProposedBinding], list[UnassignedMachine]]:
    """Assign machines of a group to free slots of its domain; assigned slots are removed from ``free_slots``.

    Parameters
    ----------
    slots_by_hostname
        Slots by the host name that the caller's template derives from them.
    in_order
        Whether machines that fit several slots equally well get them in order.

    Returns
    -------
    tuple
        The proposed bindings, and the machines without a slot.

    """
    assigner = _SlotAssigner(group, assignment, free_slots, slots_by_hostname)
    assigner.assign_by_ring()
    assigner.assign_by_hostname()
    assigner.assign_rest(in_order=in_order)
    return assigner.proposals, [
        UnassignedMachine.from_member(member, reason, free_slots) for member, reason in assigner.unassigned
    ]


class _SlotAssigner:
    """Propose bindings for the unbound machines of one group, and collect the machines that get no slot."""

    def __init__(
        self,
        group: MachineGroup,
        assignment: DomainAssignment,
        free_slots: list[Slot],
        slots_by_hostname: Mapping[str, Slot],
    ) -> None:
        self._group, self._assignment = group, assignment
        self._free_slots, self._slots_by_hostname = free_slots, slots_by_hostname
        self._waiting = sorted(group.unbound, key=lambda member: member.name)
        self.proposals, self.unassigned = list[ProposedBinding](), list[tuple[GroupMember, str]]()

    def assign_by_ring(self) -> None:
        """Assign machines by their ring positions.

        A ring can be numbered from any server, in either direction. Only orders that agree with the bound machines
        count. If no order agrees, machines with a position stay unassigned. If several agree, orders that match the
        host names too are preferred, and a slot is certain only if all orders lead to it.
        """
        ring = server_ring(self._free_slots[0].model) if self._free_slots else ()
        numbered = {member.position: member for member in self._waiting if member.position is not None}
        bound_ordinals = {
            member.position: member.slot.ordinal
            for member in self._group.bound
            if member.slot and member.position is not None
        }
        if not numbered or not ring or max([*numbered, *bound_ordinals]) >= len(ring):
            return
        slot_by_ordinal = {slot.ordinal: slot for slot in self._free_slots}
        orders = matching_orders(ring, bound_ordinals, set(ring) - slot_by_ordinal.keys(), list(numbered))
        slots_by_position = {
            position: slot for position, member in numbered.items() if (slot := self._slot_by_hostname(member))
        }
        agreeing_orders = [
            order
            for order in orders
            if all(slot_by_ordinal[order[position]] == slot for position, slot in slots_by_position.items())
        ]
        for position, member in numbered.items():
            if not orders:
                self._leave_unassigned(
                    member, f"its position {position} contradicts the ring positions of the others in its domain"
                )
                continue
            servers, likely = {order[position] for order in orders}, {order[position] for order in agreeing_orders}
            confidence = "certain" if len(servers) == 1 else "likely" if len(likely) == 1 else "interchangeable"
            self._assign(member, slot_by_ordinal[(agreeing_orders or orders)[0][position]], confidence)

    def assign_by_hostname(self) -> None:
        """Assign machines whose host name is that of a free slot."""
        for member in list(self._waiting):
            if slot := self._slot_by_hostname(member):
                self._assign(member, slot, "likely")

    def assign_rest(self, *, in_order: bool) -> None:
        """Assign a last machine to a last slot, or several in order if requested; leave the others unassigned.

        A machine of unknown type gets only the slot that has its host name, which is taken.
        """
        for member in [member for member in self._waiting if instance_type_of(member.machine) is None]:
            self._leave_unassigned(member, "no source reports its instance type, and the slot of its name is taken")
        if len(self._waiting) == len(self._free_slots) == 1:
            self._assign(self._waiting[0], self._free_slots[0], "certain")
        elif in_order:
            ordered = sorted(self._waiting, key=lambda member: (member.position is None, member.position or 0))
            for member, slot in zip(ordered, list(self._free_slots), strict=False):
                self._assign(member, slot, "interchangeable", method="in-order")
        for member in list(self._waiting):
            self._leave_unassigned(
                member, "its domain is known, but not its slot" if self._free_slots else "its domain is full"
            )

    def _slot_by_hostname(self, member: GroupMember) -> Slot | None:
        slot = slot_for_host(member, self._slots_by_hostname)
        return slot if slot in self._free_slots else None

    def _leave_unassigned(self, member: GroupMember, reason: str) -> None:
        self._waiting.remove(member)
        self.unassigned.append((member, reason))

    def _assign(self, member: GroupMember, slot: Slot, confidence: str, method: str | None = None) -> None:
        matches_hostname = self._slot_by_hostname(member) == slot
        self._waiting.remove(member)
        self._free_slots.remove(slot)
        self.proposals.append(
            ProposedBinding(
                slot.id,
                slot.address,
                member.machine.instance,
                valid_host_name(member.machine),
                method or self._binding_method(matches_hostname=matches_hostname),
                max(confidence, self._assignment.confidence, key=_CONFIDENCE_ORDER.index),
                "; ".join(self._evidence(member)),
            )
        )

    def _binding_method(self, *, matches_hostname: bool) -> str:
        """Return the method by which the domain was assigned; a host name counts only for the machine that has it."""
        if self._assignment.method != "host-name" or matches_hostname or not self._group.key:
            return self._assignment.method
        return "ultraserver" if self._group.key.startswith(ULTRASERVER) else "capacity-block"

    def _evidence(self, member: GroupMember) -> Iterator[str]:
        if self._group.key:
            yield self._group.key
        if member.position is not None:
            yield f"position {member.position}"
        yield self._assignment.evidence
