"""Which machine stands in which slot, by what was seen of both: never guessed, and each answer says how it is known.

Machines of one UltraServer or capacity block fill one domain. Which one tell, in this order: those of them that stand
already, host names that are those of slots, the network node above them, and that nothing else is left. Within a domain
their places in the ring do.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from types import MappingProxyType
from typing import Final

from sqlalchemy import Connection, select

from trninv.catalog.instance_types import UnclaimedType, unclaimed
from trninv.inventory.address import Place
from trninv.inventory.binding import Binding, Standing, bindings
from trninv.inventory.hostnames import TEMPLATE
from trninv.inventory.schema import TABLES
from trninv.live.anchors import Anchors, Unplaced
from trninv.live.groups import Slot, chips_of, grouped, living, slots, type_of
from trninv.live.newest import Machine, Newest, newest
from trninv.live.pins import host_of, is_named
from trninv.live.positions import placed

_BINDING = TABLES["binding"]
WITHIN: Final = timedelta(hours=24)
"""A machine that was seen last so long before the others is taken for gone."""
_NO_CHIPS: Final[Mapping[str, int]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Identified:
    """What can be told: bindings to make or to write anew, and the machines that stay without a slot.

    Attributes
    ----------
    unclaimed
        Types that no model in the catalog claims; their machines are unplaced.

    """

    standings: tuple[Standing, ...]
    unplaced: tuple[Unplaced, ...]
    unclaimed: tuple[UnclaimedType, ...] = ()


def identify(
    connection: Connection,
    place: Place | None = None,
    *,
    template: str = TEMPLATE,
    within: timedelta = WITHIN,
    in_order: bool = False,
) -> Identified:
    """Find a slot for every machine that has none, in a few statements whatever their number; nothing is written.

    Parameters
    ----------
    place
        The cluster that the machines stand in; all clusters, if None.
    template
        What hosts are called that are called after their slot.
    in_order
        Whether domains and slots that nothing tells apart are taken in their order.

    Raises
    ------
    UsageError, NotExpressibleError
        The template is none.

    """
    of, held = slots(connection, place), list(bindings(connection))
    seen = newest(connection)
    found = matched(
        of,
        held,
        seen,
        chips_of(connection, living(seen, within)),
        template=template,
        within=within,
        in_order=in_order,
        is_all=place is None,
    )
    return without_undone(connection, found)


def without_undone(connection: Connection, found: Identified) -> Identified:
    """What was found without inferences that a person undid before."""
    undone = _undone(connection)
    again = [each for each in found.standings if _what(each) in undone]
    left = [
        Unplaced(each.instance or each.host or "", "this was undone before: bind it by hand", (each.address,), 1)
        for each in again
    ]
    return Identified(
        tuple(each for each in found.standings if each not in again),
        tuple(sorted([*found.unplaced, *left], key=lambda each: each.name)),
        found.unclaimed,
    )


def matched(
    of: Sequence[Slot],
    held: Sequence[Binding],
    seen: Newest,
    chips: Mapping[str, int] = _NO_CHIPS,
    *,
    template: str = TEMPLATE,
    within: timedelta = WITHIN,
    in_order: bool = False,
    is_all: bool = True,
) -> Identified:
    """The same of slots, open bindings and what was seen, whatever was undone.

    Parameters
    ----------
    chips
        How many chips machines have whose type several models claim, by name, where that was seen.
    is_all
        Whether there are no other slots, so that every machine should have one of these.

    """
    machines = [each for each in living(seen, within) if is_named(each)]
    groups = grouped(standing_in(machines, of, held, seen), {slot.model: slot.servers for slot in of}, chips)
    left_alone = [each.machine for group in groups for each in group.unplaced if each.is_unclaimed]
    anchors = Anchors(of, {each.server_id for each in held}, template, is_all=is_all)
    made, unplaced = list[Standing](), list[Unplaced]()
    for group, anchor in anchors.of(groups, in_order=in_order):
        given, left = placed(group, anchor, anchors.free[anchor.domain], anchors.named, in_order=in_order)
        made += given
        unplaced += left
    taken = {each.server_id for each in made}
    learnt = [each for each in _learnt(held, of, seen) if each.server_id not in taken]
    types = unclaimed(kind for each in left_alone if (kind := type_of(each)))
    return Identified((*learnt, *made), (*anchors.unplaced, *unplaced), types)


def standing_in(
    machines: Iterable[Machine], of: Sequence[Slot], held: Iterable[Binding], seen: Newest
) -> Iterator[tuple[Machine, Slot | None]]:
    """Machines with their slots out of some; those that stand in others are left out."""
    by_id, bound = {slot.id: slot for slot in of}, dict[str, int]()
    for each in held:
        if (machine := _of(each, seen)) is not None:
            bound[machine.name] = each.server_id
    for machine in machines:
        if machine.name not in bound:
            yield machine, None
        elif (slot := by_id.get(bound[machine.name])) is not None:
            yield machine, slot


def _of(binding: Binding, seen: Newest) -> Machine | None:
    if binding.instance is not None:
        return seen.machines.get(binding.instance)
    return seen.hosts.get(binding.host or "")


def _learnt(held: Iterable[Binding], of: Iterable[Slot], seen: Newest) -> Iterator[Standing]:
    """Bindings whose instance or host is known now, or has another name."""
    ours = {slot.id for slot in of}
    for each in held:
        machine = _of(each, seen) if each.server_id in ours else None
        if machine is None or not is_named(machine):
            continue
        names = machine.instance or each.instance, host_of(machine) or each.host
        if names != (each.instance, each.host):
            yield Standing(each.server_id, each.address, *names, each.how, each.confidence, each.evidence)


_What = tuple[str, str | None, str, str | None]


def _what(of: Standing | Binding) -> _What:
    """What an inference says, and what of."""
    return of.address, of.instance or of.host, of.how, of.evidence


def _undone(connection: Connection) -> set[_What]:
    """Inferences that a person undid."""
    columns = (_BINDING.c.address, _BINDING.c.instance, _BINDING.c.host, _BINDING.c.how, _BINDING.c.evidence)
    rows = connection.execute(select(*columns).where(_BINDING.c.ending == "undone", _BINDING.c.evidence.is_not(None)))
    return {(row.address, row.instance or row.host, row.how, row.evidence) for row in rows}
