"""Declare the drift rules that apply to one server."""

from collections import defaultdict
from functools import reduce
from operator import or_

from trninv.database.tables import CARRYING_STATES
from trninv.importers.kubernetes_health import CORDONED, is_active
from trninv.reconcile.drift_input import DriftInput
from trninv.reconcile.latest_observations import Machine, MachineObservation, ObservedValue
from trninv.reconcile.occupied_slots import OccupiedSlot
from trninv.reconcile.rules.registry import SERVER_RULES, FindingDraft, FindingDrafts
from trninv.units import pluralize

_SCHEDULERS = ("slurm", "kubernetes")
"""Sources that place jobs, and so must know unhealthy servers."""
_DISPUTABLE_FACTS = {
    "instance_type": "instance type",
    "zone": "zone",
    "capacity_block": "capacity block",
    "network_nodes": "network nodes",
    "place": "position in an UltraServer",
    "logical_cores": "logical cores",
}


@SERVER_RULES("instance-type-unexpected", "instance type (any source) with the type of the slot's server model")
def check_instance_type_unexpected(slot: OccupiedSlot, drift_input: DriftInput) -> FindingDrafts:
    """Find instances of another type than the slot's; only for models whose types the catalog has."""
    observed = drift_input.agreed_value(slot.machine, "instance_type")
    if observed and slot.model.types and not slot.model.has_type(observed.value):
        yield _finding_for(slot, " or ".join(slot.model.types), observed.value, observed)


@SERVER_RULES("server-unbound", "slots that are up or degraded with bindings, in clusters that have any")
def check_server_unbound(slot: OccupiedSlot, _: DriftInput) -> FindingDrafts:
    """Find slots without a machine, except those whose state says that they are empty."""
    if slot.bound_name is None and slot.state in CARRYING_STATES:
        yield FindingDraft(slot.address, None, "an instance", "none is bound", ())


@SERVER_RULES(
    "instance-gone", "the latest complete listing of EC2 or Kubernetes with an earlier one that has the instance"
)
def check_instance_gone(slot: OccupiedSlot, _: DriftInput) -> FindingDrafts:
    """Find instances that a complete listing lacks, unless any source reported them later."""
    if slot.missing_from_listing:
        observed = "missing from a newer complete listing"
        yield FindingDraft(
            slot.address,
            slot.bound_name,
            "listed",
            observed,
            (slot.missing_from_listing,),
            failed_parts=(slot.address,),
        )


@SERVER_RULES(
    "chip-missing",
    "devices (neuron-ls, ResourceSlices), unless partial, and allocatable counts with the chips of the slot",
)
def check_chip_missing(slot: OccupiedSlot, drift_input: DriftInput) -> FindingDrafts:
    """Find missing chips, by number if a source lists chips, else by count."""
    complete_views = [view for view in slot.chip_views.values() if not view.is_partial]
    missing_bits = reduce(or_, (~view.chip_bits for view in complete_views), 0) & (1 << slot.model.chips) - 1
    missing = (chip for chip in range(missing_bits.bit_length()) if missing_bits >> chip & 1)
    listings_by_chip = {
        chip: [view.listing for view in complete_views if not view.chip_bits >> chip & 1] for chip in missing
    }
    for chip, listings in listings_by_chip.items():
        address = f"{slot.address}/c{chip}"
        yield FindingDraft(
            address, slot.instance, "a chip", "not found", _observation_ids(*listings), failed_parts=(address,)
        )
    is_shown = any(drift_input.is_fresh(view.listing) for view in complete_views)
    for observed in (drift_input.fresh_values if is_shown else drift_input.best_values)(
        slot.machine, "chip_count"
    ).values():
        if observed.source != "neuron-monitor" and observed.value < slot.model.chips - len(listings_by_chip):
            expected = pluralize(slot.model.chips, "chip")
            yield _finding_for(
                slot, expected, f"{observed.value} by {observed.source}, which does not list them", observed
            )


@SERVER_RULES("chip-extra", "devices that a source lists or counts with the chips of the slot's server model")
def check_chip_extra(slot: OccupiedSlot, drift_input: DriftInput) -> FindingDrafts:
    """Find chips beyond the design's number, by any source."""
    shown_counts = {source: (view.chip_bits.bit_length(), view.listing) for source, view in slot.chip_views.items()}
    counts = {
        source: (observed.value, observed)
        for source, observed in drift_input.best_values(slot.machine, "chip_count").items()
    }
    for source, (count, observed) in (counts | shown_counts).items():
        if count > slot.model.chips:
            yield _finding_for(slot, pluralize(slot.model.chips, "chip"), f"device {count - 1} by {source}", observed)


@SERVER_RULES("view-partial", "devices that neuron-ls or ResourceSlices list with the chips of the slot's server model")
def check_view_partial(slot: OccupiedSlot, _: DriftInput) -> FindingDrafts:
    """Find partial views: a container's, or an incomplete set of slices."""
    for source, view in slot.chip_views.items():
        if view.is_partial and source in ("neuron-ls", "kubernetes") and view.chip_bits.bit_count() < slot.model.chips:
            expected = pluralize(slot.model.chips, "chip")
            yield _finding_for(
                slot, expected, f"{view.chip_bits.bit_count()} in a partial view by {source}", view.listing
            )


@SERVER_RULES(
    "health-condition",
    "conditions and taints of Kubernetes' nodes and devices, HyperPod's labels and status, errors of neuron-monitor",
)
def check_health_condition(slot: OccupiedSlot, drift_input: DriftInput) -> FindingDrafts:
    """Find unhealthy servers by node conditions, and unhealthy chips by device taints."""
    for chip, (taints, listing) in sorted(slot.chip_taints.items()):
        if problem := " ".join(filter(is_active, taints.split())):
            address = f"{slot.address}/c{chip}"
            summary = f"{problem} by {listing.source}"
            yield FindingDraft(
                address, slot.instance, "no taint", summary, _observation_ids(listing), failed_parts=(address,)
            )
    for observed in drift_input.best_values(slot.machine, "condition").values():
        if _is_failed_check(observed):
            problem = f"{observed.value.reason or observed.value.state} by {observed.source}"
            yield _finding_for(slot, "healthy", problem, observed)._replace(
                failed_parts=(slot.address,), state=observed.value.state
            )


@SERVER_RULES("state-differs", "states by Slurm, Kubernetes, EC2 and HyperPod with the server's state here")
def check_state_differs(slot: OccupiedSlot, drift_input: DriftInput) -> FindingDrafts:
    """Find servers whose state differs by source; only schedulers may report that a server is up after all."""
    for observed in drift_input.best_values(slot.machine, "condition").values():
        is_up, is_slot_up = observed.value.state in CARRYING_STATES, slot.state in CARRYING_STATES
        if slot.is_cordoned and observed.source in _SCHEDULERS and observed.value.state == "maintenance":
            continue  # the cordon is intended
        if is_up != is_slot_up and not _is_failed_check(observed) and (not is_up or observed.source in _SCHEDULERS):
            reason = f" ({observed.value.reason})" if observed.value.reason else ""
            yield _finding_for(slot, slot.state, f"{observed.value.state} by {observed.source}{reason}", observed)


@SERVER_RULES("stale", "the last report of a bound instance by each source with one hour ago, or --stale-after")
def check_stale(slot: OccupiedSlot, drift_input: DriftInput) -> FindingDrafts:
    """Find sources that stopped reporting a machine; a source that never reported it is not missed."""
    if slot.bound_name is not None and slot.machine is None and not slot.missing_from_listing:
        yield FindingDraft(slot.address, slot.instance, "an observation", "never observed", ())
    old = {
        source: observation
        for source, observation in _latest_by_source(slot.machine).items()
        if observation.observed_at < drift_input.fresh_from
    }
    if old:
        reports = ", ".join(f"{source} at {observation.observed_at}" for source, observation in sorted(old.items()))
        yield _finding_for(slot, "a recent observation", f"last observed by {reports}", *old.values())


@SERVER_RULES("conflict-between-sources", "fresh reports of one instance by several sources with each other")
def check_conflict_between_sources(slot: OccupiedSlot, drift_input: DriftInput) -> FindingDrafts:
    """Find fresh sources that disagree; other rules then use neither value."""
    for fact, label in _DISPUTABLE_FACTS.items():
        fresh, by_value = drift_input.fresh_values(slot.machine, fact).values(), defaultdict(list)
        for observed in fresh if len(fresh) > 1 else ():
            by_value[_format_value(observed.value)].append(observed)
        if len(by_value) > 1:
            parts = (
                f"{value} by {' and '.join(sorted(item.source for item in observed))}"
                for value, observed in sorted(by_value.items())
            )
            sources = [item for observed in by_value.values() for item in observed]
            yield _finding_for(slot, f"one {label}", "; ".join(parts), *sources)


def _finding_for(
    slot: OccupiedSlot, expected: str, observed: str, *evidence: ObservedValue | MachineObservation
) -> FindingDraft:
    return FindingDraft(slot.address, slot.instance, expected, observed, _observation_ids(*evidence))


def _observation_ids(*evidence: ObservedValue | MachineObservation) -> tuple[int, ...]:
    return tuple(sorted({item.observation for item in evidence}))


def _format_value(value: object) -> str:
    return " ".join(str(part) for part in value if part is not None) if isinstance(value, tuple) else str(value)


def _is_failed_check(observed: ObservedValue) -> bool:
    """Return whether a state comes from a failed check; cordons and HyperPod updates are intended."""
    if observed.source == "kubernetes":
        return observed.value.state not in CARRYING_STATES and observed.value.reason != CORDONED
    return observed.source in ("hyperpod", "neuron-monitor") and observed.value.state == "down"


def _latest_by_source(machine: Machine | None) -> dict[str, MachineObservation]:
    """Return the latest of all that each source reported of a machine."""
    latest: dict[str, MachineObservation] = {}
    for observation in machine.observations if machine else ():
        latest.setdefault(observation.source, observation)
    return latest
