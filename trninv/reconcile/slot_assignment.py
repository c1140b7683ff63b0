"""Assign the machines of a group to slots."""

from collections.abc import Iterator, Mapping
from typing import Final

from trninv.inventory.state.bindings import ProposedBinding
from trninv.reconcile.domain_assignment import DomainAssignment, UnassignedMachine, slot_for_host
from trninv.reconcile.latest_observations import valid_host_name
from trninv.reconcile.machine_groups import ULTRASERVER, GroupMember, MachineGroup, Slot
from trninv.reconcile.ring_order import matching_orders, server_ring

_CONFIDENCE_ORDER: Final = ("certain", "likely", "interchangeable")


def assign_slots(
    group: MachineGroup,
    assignment: DomainAssignment,
    free_slots: list[Slot],
    slots_by_hostname: Mapping[str, Slot],
    *,
    in_order: bool,
) -> tuple[list[ProposedBinding], list[UnassignedMachine]]:
    """Assign machines of a group to free slots of its domain; assigned slots are removed from ``free_slots``.

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
    def __init__(
        self,
        group: MachineGroup,
        assignment: DomainAssignment,
        free_slots: list[Slot],
        slots_by_hostname: Mapping[str, Slot],
    ) -> None:
        self._group, self._assignment, self._free_slots, self._slots_by_hostname = (
            group,
            assignment,
            free_slots,
            slots_by_hostname,
        )
        self._waiting = sorted(group.unbound, key=lambda member: member.name)
        self.proposals, self.unassigned = list[ProposedBinding](), list[tuple[GroupMember, str]]()

    def assign_by_ring(self) -> None:
        """Assign by ring position, allowing rotations and reflections."""
        ring = server_ring(self._free_slots[0].model) if self._free_slots else ()
        numbered = {position: candidate for candidate in self._waiting if (position := candidate.position) is not None}
        bound_ordinals = {position: candidate.slot.ordinal for candidate in self._group.bound if candidate.slot
                 if (position := candidate.position) is not None}  # fmt: skip
        if not numbered or not ring or max([*numbered, *bound_ordinals]) >= len(ring):
            return
        slot_by_ordinal = {slot.ordinal: slot for slot in self._free_slots}
        orders = matching_orders(ring, bound_ordinals, set(ring) - slot_by_ordinal.keys(), list(numbered))
        slots_by_position = {
            position: slot for position, candidate in numbered.items() if (slot := self._slot_by_hostname(candidate))
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
        """Assign by host name."""
        for member in list(self._waiting):
            if slot := self._slot_by_hostname(member):
                self._assign(member, slot, "likely")

    def assign_rest(self, *, in_order: bool) -> None:
        """Assign the last machine to the last slot; several in order, if requested."""
        if len(self._waiting) == len(self._free_slots) == 1:
            self._assign(self._waiting[0], self._free_slots[0], "certain")
        elif in_order:
            last = len(self._free_slots) + len(self._waiting)
            ordered = sorted(
                self._waiting, key=lambda candidate: last if candidate.position is None else candidate.position
            )
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
        if self._assignment.method != "host-name" or matches_hostname or not self._group.key:
            return self._assignment.method
        return "ultraserver" if self._group.key.startswith(ULTRASERVER) else "capacity-block"

    def _evidence(self, member: GroupMember) -> Iterator[str]:
        if self._group.key:
            yield self._group.key
        if member.position is not None:
            yield f"place {member.position}"
        yield self._assignment.evidence
