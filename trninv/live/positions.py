"""Which server of its domain each machine of a group is."""

from collections.abc import Iterator, Mapping
from typing import Final

from trninv.inventory.binding import Standing
from trninv.live.anchors import Anchor, Unplaced, slot_named
from trninv.live.groups import ULTRASERVER, Group, Member, Slot
from trninv.live.pins import host_of
from trninv.live.ring import fitting, ring_of

_SURE: Final = ("certain", "likely", "interchangeable")


def placed(
    group: Group, anchor: Anchor, free: list[Slot], named: Mapping[str, Slot], *, in_order: bool
) -> tuple[list[Standing], list[Unplaced]]:
    """Slots for the machines of a group, out of those that are free in its domain; those that are given go from there.

    Returns
    -------
    tuple
        Where machines stand, and those of which that can't be told.

    """
    work = _Placing(group, anchor, free, named)
    work.by_ring()
    work.by_name()
    work.by_rest(in_order=in_order)
    return work.made, [Unplaced.of(member, why, free) for member, why in work.left]


class _Placing:
    def __init__(self, group: Group, anchor: Anchor, free: list[Slot], named: Mapping[str, Slot]) -> None:
        self._group, self._anchor, self._free, self._named = group, anchor, free, named
        self._open = sorted(group.unplaced, key=lambda member: member.name)
        self.made, self.left = list[Standing](), list[tuple[Member, str]]()

    def by_ring(self) -> None:
        """By their numbers in the UltraServer's ring, as they are or turned or mirrored."""
        ring = ring_of(self._free[0].model) if self._free else ()
        numbered = {place: each for each in self._open if (place := each.position) is not None}
        known = {place: each.slot.ordinal for each in self._group.standing if each.slot
                 if (place := each.position) is not None}  # fmt: skip
        if not numbered or not ring or max([*numbered, *known]) >= len(ring):
            return
        free = {slot.ordinal: slot for slot in self._free}
        ways = fitting(ring, known, set(ring) - free.keys(), list(numbered))
        names = {place: slot for place, each in numbered.items() if (slot := self._called(each))}
        agreeing = [way for way in ways if all(free[way[place]] == slot for place, slot in names.items())]
        for place, member in numbered.items():
            if not ways:
                self._leave(member, f"its place {place} does not fit those of the others in the ring of its domain")
                continue
            servers, likely = {way[place] for way in ways}, {way[place] for way in agreeing}
            sure = "certain" if len(servers) == 1 else "likely" if len(likely) == 1 else "interchangeable"
            self._give(member, free[(agreeing or ways)[0][place]], sure)

    def by_name(self) -> None:
        """By the names of their hosts."""
        for member in list(self._open):
            if slot := self._called(member):
                self._give(member, slot, "likely")

    def by_rest(self, *, in_order: bool) -> None:
        """The last machine in the last slot; several in their order, if that is asked for."""
        if len(self._open) == len(self._free) == 1:
            self._give(self._open[0], self._free[0], "certain")
        elif in_order:
            last = len(self._free) + len(self._open)
            ordered = sorted(self._open, key=lambda each: last if each.position is None else each.position)
            for member, slot in zip(ordered, list(self._free), strict=False):
                self._give(member, slot, "interchangeable", how="in-order")
        for member in list(self._open):
            self._leave(member, "its domain is known, its place there is not" if self._free else "its domain is full")

    def _called(self, member: Member) -> Slot | None:
        slot = slot_named(member, self._named)
        return slot if slot in self._free else None

    def _leave(self, member: Member, why: str) -> None:
        self._open.remove(member)
        self.left.append((member, why))

    def _give(self, member: Member, slot: Slot, sure: str, how: str | None = None) -> None:
        is_called = self._called(member) == slot
        self._open.remove(member)
        self._free.remove(slot)
        self.made.append(
            Standing(
                slot.id,
                slot.address,
                member.machine.instance,
                host_of(member.machine),
                how or self._how(is_called=is_called),
                max(sure, self._anchor.confidence, key=_SURE.index),
                "; ".join(self._words(member)),
            )
        )

    def _how(self, *, is_called: bool) -> str:
        if self._anchor.how != "host-name" or is_called or not self._group.key:
            return self._anchor.how
        return "ultraserver" if self._group.key.startswith(ULTRASERVER) else "capacity-block"

    def _words(self, member: Member) -> Iterator[str]:
        if self._group.key:
            yield self._group.key
        if member.position is not None:
            yield f"place {member.position}"
        yield self._anchor.words
