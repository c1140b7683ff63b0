"""Rules of a slot and the machine that stands in it."""

from collections import defaultdict
from functools import reduce
from operator import or_

from trninv.importers.kubernetes_health import CORDONED, is_active
from trninv.inventory.schema import CARRYING
from trninv.live.design import Occupancy
from trninv.live.newest import Machine, Said, Sighting
from trninv.live.picture import Picture
from trninv.live.rules.register import SERVER, Difference, Differences
from trninv.units import counted

_SCHEDULERS = ("slurm", "kubernetes")
"""What places jobs, and so must know what is not up."""
_DISPUTED = {
    "instance_type": "instance type",
    "zone": "zone",
    "capacity_block": "capacity block",
    "network_nodes": "network nodes",
    "place": "place in an UltraServer",
    "logical_cores": "logical cores",
}


@SERVER("instance-type-unexpected", "instance type, by any source, with the type of the slot's server model")
def instance_type(slot: Occupancy, picture: Picture) -> Differences:
    """Of models whose types the catalog has."""
    said = picture.sure(slot.machine, "instance_type")
    if said and slot.model.types and not slot.model.is_of(said.value):
        yield _of(slot, " or ".join(slot.model.types), said.value, said)


@SERVER("server-unbound", "slots that should be in service with bindings, in clusters that have any")
def unbound(slot: Occupancy, _: Picture) -> Differences:
    """A slot whose state says that nothing is there is no finding."""
    if slot.bound is None and slot.state in CARRYING:
        yield Difference(slot.address, None, "an instance", "none is bound", ())


@SERVER("instance-gone", "the newest listing of all of EC2 or Kubernetes with the one before that had the instance")
def gone(slot: Occupancy, _: Picture) -> Differences:
    """Unless any source saw it after that listing was made."""
    if slot.gone:
        found = "not in a newer listing of all there is"
        yield Difference(slot.address, slot.bound, "to be listed", found, (slot.gone,), broken=(slot.address,))


@SERVER("chip-missing", "devices of neuron-ls or ResourceSlices, unless partial, and counts of what may be allocated")
def chip_missing(slot: Occupancy, picture: Picture) -> Differences:
    """By number where a source shows chips, else how many."""
    whole = [view for view in slot.views.values() if not view.is_partial]
    lost = reduce(or_, (~view.seen for view in whole), 0) & (1 << slot.model.chips) - 1
    missing = (chip for chip in range(lost.bit_length()) if lost >> chip & 1)
    named = {chip: [view.said for view in whole if not view.seen >> chip & 1] for chip in missing}
    for chip, views in named.items():
        place = f"{slot.address}/c{chip}"
        yield Difference(place, slot.instance, "a chip", "not there", _ids(*views), broken=(place,))
    is_shown = any(picture.is_fresh(view.said) for view in whole)
    for said in (picture.fresh if is_shown else picture.current)(slot.machine, "chip_count").values():
        if said.source != "neuron-monitor" and said.value < slot.model.chips - len(named):
            expected = counted(slot.model.chips, "chip")
            yield _of(slot, expected, f"{said.value} by {said.source}, which does not say which", said)


@SERVER("chip-extra", "devices that a source shows or counts with the chips of the slot's server model")
def chip_extra(slot: Occupancy, picture: Picture) -> Differences:
    """By any source."""
    shown = {source: (view.seen.bit_length(), view.said) for source, view in slot.views.items()}
    counts = {source: (said.value, said) for source, said in picture.current(slot.machine, "chip_count").items()}
    for source, (count, said) in (counts | shown).items():
        if count > slot.model.chips:
            yield _of(slot, counted(slot.model.chips, "chip"), f"device {count - 1} by {source}", said)


@SERVER("view-partial", "devices that neuron-ls or ResourceSlices show with the chips of the slot's server model")
def view_partial(slot: Occupancy, _: Picture) -> Differences:
    """A container's view, or slices that are not all there."""
    for source, view in slot.views.items():
        if view.is_partial and source in ("neuron-ls", "kubernetes") and view.seen.bit_count() < slot.model.chips:
            expected = counted(slot.model.chips, "chip")
            yield _of(slot, expected, f"{view.seen.bit_count()} in a part that {source} shows", view.said)


@SERVER(
    "health-condition",
    "conditions and taints of Kubernetes' nodes and devices, HyperPod's labels and status, errors of neuron-monitor",
)
def health(slot: Occupancy, picture: Picture) -> Differences:
    """Conditions are of a node, taints of devices are of a chip."""
    for chip, (taints, by) in sorted(slot.taints.items()):
        if found := " ".join(filter(is_active, taints.split())):
            place = f"{slot.address}/c{chip}"
            words = f"{found} by {by.source}"
            yield Difference(place, slot.instance, "no taint", words, _ids(by), broken=(place,))
    for said in picture.current(slot.machine, "condition").values():
        if _is_health(said):
            found = f"{said.value.reason or said.value.state} by {said.source}"
            yield _of(slot, "healthy", found, said)._replace(broken=(slot.address,), state=said.value.state)


@SERVER("state-differs", "states of Slurm, cordons of Kubernetes, EC2 and HyperPod with the server's state here")
def state(slot: Occupancy, picture: Picture) -> Differences:
    """Whether it is in service. That all is well counts only of what would place jobs there."""
    for said in picture.current(slot.machine, "condition").values():
        is_up, ours = said.value.state in CARRYING, slot.state in CARRYING
        if slot.is_closed and said.source in _SCHEDULERS and said.value.state == "maintenance":
            continue  # it takes no jobs, as was wanted
        if is_up != ours and not _is_health(said) and (not is_up or said.source in _SCHEDULERS):
            words = f" ({said.value.reason})" if said.value.reason else ""
            yield _of(slot, slot.state, f"{said.value.state} by {said.source}{words}", said)


@SERVER("stale", "when each source last said anything of a bound instance with an hour ago, or --stale-after")
def stale(slot: Occupancy, picture: Picture) -> Differences:
    """Sources that never said anything of it are not missed."""
    if slot.bound is not None and slot.machine is None and not slot.gone:
        yield Difference(slot.address, slot.instance, "to be seen", "never seen", ())
    old = {source: seen for source, seen in _latest(slot.machine).items() if seen.at < picture.fresh_from}
    if old:
        found = ", ".join(f"{source} at {seen.at}" for source, seen in sorted(old.items()))
        yield _of(slot, "to be seen again", f"last seen by {found}", *old.values())


@SERVER("conflict-between-sources", "what sources that are fresh say of one instance with each other")
def conflict(slot: Occupancy, picture: Picture) -> Differences:
    """Both values are kept, and no other rule takes either for true."""
    for fact, called in _DISPUTED.items():
        fresh, by_value = picture.fresh(slot.machine, fact).values(), defaultdict(list)
        for said in fresh if len(fresh) > 1 else ():
            by_value[_words(said.value)].append(said)
        if len(by_value) > 1:
            parts = (
                f"{value} by {' and '.join(sorted(each.source for each in said))}"
                for value, said in sorted(by_value.items())
            )
            sources = [each for said in by_value.values() for each in said]
            yield _of(slot, f"one {called}", "; ".join(parts), *sources)


def _of(slot: Occupancy, expected: str, found: str, *said: Said | Sighting) -> Difference:
    return Difference(slot.address, slot.instance, expected, found, _ids(*said))


def _ids(*said: Said | Sighting) -> tuple[int, ...]:
    return tuple(sorted({each.observation for each in said}))


def _words(value: object) -> str:
    return " ".join(str(part) for part in value if part is not None) if isinstance(value, tuple) else str(value)


def _is_health(said: Said) -> bool:
    """Whether a state is that of a failed check: a cordon is somebody's will, and an update of HyperPod passes."""
    if said.source == "kubernetes":
        return said.value.state not in CARRYING and said.value.reason != CORDONED
    return said.source in ("hyperpod", "neuron-monitor") and said.value.state == "down"


def _latest(machine: Machine | None) -> dict[str, Sighting]:
    """The newest of anything that each source said of a machine."""
    found: dict[str, Sighting] = {}
    for seen in machine.seen if machine else ():
        found.setdefault(seen.source, seen)
    return found
