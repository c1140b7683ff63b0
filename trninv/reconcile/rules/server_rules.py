"""Declare the drift rules that compare one slot with the machine bound to it; `drift` applies them.

A slot is a server's place in the design. A source is a tool on the machines, or a manager of them such as
Kubernetes or EC2, whose output was imported.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from functools import reduce
from operator import or_

from trninv.database.tables import CARRYING_STATES
from trninv.importers.kubernetes_health import CORDONED, is_active
from trninv.importers.source_register import find_source
from trninv.reconcile.drift_input import DriftInput
from trninv.reconcile.latest_observations import Machine, MachineObservation, ObservedValue
from trninv.reconcile.occupied_slots import OccupiedSlot
from trninv.reconcile.rules.registry import SERVER_RULES, FindingDraft, FindingDrafts
from trninv.units import pluralize

_DISPUTABLE_FACTS = {
    "instance_type": "instance type",
    "zone": "zone",
    "capacity_block": "capacity block",
    "network_nodes": "network nodes",
    "ring_position": "position in an UltraServer",
    "logical_cores": "logical cores",
}
"""Labels of the observed facts that more than one source may report."""

_ZONE_ID = re.compile(r"[a-z0-9-]+-az\d+")
"""The id of a zone, such as usw2-az4; its name, such as us-west-2d, differs between accounts."""


@SERVER_RULES("instance-type-unexpected")
def check_instance_type_unexpected(slot: OccupiedSlot, drift_input: DriftInput) -> FindingDrafts:
    """Find instances whose type differs from the slot's; models without types in the catalog are skipped."""
    observed = drift_input.agreed_value(slot.machine, "instance_type")
    if observed and slot.model.types and not slot.model.has_type(observed.value):
        yield _finding_for(slot, " or ".join(slot.model.types), observed.value, observed)


@SERVER_RULES("server-unbound")
def check_server_unbound(slot: OccupiedSlot, _: DriftInput) -> FindingDrafts:
    """Find slots without a machine that are up or degraded; an empty slot should be down or in maintenance."""
    if slot.bound_name is None and slot.state in CARRYING_STATES:
        yield FindingDraft(slot.address, None, "an instance", "none is bound", ())


@SERVER_RULES("instance-gone")
def check_instance_gone(slot: OccupiedSlot, _: DriftInput) -> FindingDrafts:
    """Find instances that a complete listing lacks, unless any source reported them later."""
    if slot.missing_from_listing:
        observed = "missing from a newer complete listing"
        yield FindingDraft(slot.address, slot.bound_name, "listed", observed, slot.missing_from_listing)


@SERVER_RULES("chip-missing")
def check_chip_missing(slot: OccupiedSlot, drift_input: DriftInput) -> FindingDrafts:
    """Find missing chips: by number if a source lists chips, and by count if a source only counts them."""
    complete_views = [view for view in slot.chip_views.values() if not view.is_partial]
    missing_bits = reduce(or_, (~view.chip_bits for view in complete_views), 0) & (1 << slot.model.chips) - 1
    missing = (chip for chip in range(missing_bits.bit_length()) if missing_bits >> chip & 1)
    listings_by_chip = {
        chip: [view.listing for view in complete_views if not view.chip_bits >> chip & 1] for chip in missing
    }
    for chip, listings in listings_by_chip.items():
        address = f"{slot.address}/c{chip}"
        yield FindingDraft(address, slot.instance, "a chip", "not found", _observation_ids(*listings))
    # a stale count is ignored if a fresh listing has the chips by number
    is_listed = any(drift_input.is_fresh(view.listing) for view in complete_views)
    values_of = drift_input.fresh_values if is_listed else drift_input.best_values
    for observed in values_of(slot.machine, "chip_count").values():
        if find_source(observed.source).is_manager and observed.value < slot.model.chips - len(listings_by_chip):
            expected = pluralize(slot.model.chips, "chip")
            yield _finding_for(
                slot, expected, f"{observed.value} by {observed.source}, which does not list them", observed
            )


@SERVER_RULES("chip-extra")
def check_chip_extra(slot: OccupiedSlot, drift_input: DriftInput) -> FindingDrafts:
    """Find sources that list or count more chips than the design has; a listing names the extra ones."""
    expected = pluralize(slot.model.chips, "chip")
    for source, view in slot.chip_views.items():
        numbers = range(slot.model.chips, view.chip_bits.bit_length())
        if extra_chips := [str(number) for number in numbers if view.chip_bits >> number & 1]:
            yield _finding_for(slot, expected, f"chip {', '.join(extra_chips)} by {source}", view.listing)
    for source, observed in drift_input.best_values(slot.machine, "chip_count").items():
        if observed.value > slot.model.chips and source not in slot.chip_views:
            yield _finding_for(slot, expected, f"{pluralize(observed.value, 'chip')} by {source}", observed)


@SERVER_RULES("view-partial")
def check_view_partial(slot: OccupiedSlot, _: DriftInput) -> FindingDrafts:
    """Find sources that list only some of the chips, such as a container or an incomplete set of ResourceSlices."""
    for source, view in slot.chip_views.items():
        chips = view.chip_bits.bit_count()
        if view.is_partial and find_source(source).lists_every_chip and chips < slot.model.chips:
            expected = pluralize(slot.model.chips, "chip")
            yield _finding_for(slot, expected, f"{chips} in a partial view by {source}", view.listing)


@SERVER_RULES("health-condition")
def check_health_condition(slot: OccupiedSlot, drift_input: DriftInput) -> FindingDrafts:
    """Find unhealthy servers by node conditions, and unhealthy chips by device taints."""
    for chip, (taints, listing) in sorted(slot.chip_taints.items()):
        if problem := " ".join(filter(is_active, taints.split())):
            address = f"{slot.address}/c{chip}"
            summary = f"{problem} by {listing.source}"
            yield FindingDraft(address, slot.instance, "no taint", summary, _observation_ids(listing))
    for observed in drift_input.best_values(slot.machine, "condition").values():
        if _is_failed_check(observed):
            problem = f"{observed.value.reason or observed.value.state} by {observed.source}"
            yield _finding_for(slot, "healthy", problem, observed)._replace(state=observed.value.state)


@SERVER_RULES("state-differs")
def check_state_differs(slot: OccupiedSlot, drift_input: DriftInput) -> FindingDrafts:
    """Find servers whose reported state differs from the recorded state; "up" counts only if a scheduler reports it."""
    for observed in drift_input.best_values(slot.machine, "condition").values():
        is_scheduler = find_source(observed.source).is_scheduler
        # degraded counts as up
        is_up, is_slot_up = observed.value.state in CARRYING_STATES, slot.state in CARRYING_STATES
        if slot.is_cordoned and is_scheduler and observed.value.state == "maintenance":
            continue  # the scheduler reports the cordon that is recorded here too
        if is_up != is_slot_up and not _is_failed_check(observed) and (not is_up or is_scheduler):
            reason = f" ({observed.value.reason})" if observed.value.reason else ""
            yield _finding_for(slot, slot.state, f"{observed.value.state} by {observed.source}{reason}", observed)


@SERVER_RULES("stale")
def check_stale(slot: OccupiedSlot, drift_input: DriftInput) -> FindingDrafts:
    """Find bound machines that no source ever reported, and sources that stopped reporting a machine."""
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


@SERVER_RULES("conflict-between-sources")
def check_conflict_between_sources(slot: OccupiedSlot, drift_input: DriftInput) -> FindingDrafts:
    """Find facts on which fresh sources disagree; other rules then use none of the values."""
    for fact, label in _DISPUTABLE_FACTS.items():
        by_value = defaultdict[str, list[ObservedValue]](list)
        for observed in drift_input.fresh_reports(slot.machine, fact):
            by_value[_format_value(observed.value)].append(observed)
        if len(by_value) > 1 and not (fact == "zone" and _may_be_one_zone(by_value)):
            values_by_source = Counter(source for values in by_value.values() for source in {v.source for v in values})
            parts = (
                f"{value} by {' and '.join(sorted({_reporter(item, values_by_source) for item in observed}))}"
                for value, observed in sorted(by_value.items())
            )
            conflicting = [item for observed in by_value.values() for item in observed]
            yield _finding_for(slot, f"one {label}", "; ".join(parts), *conflicting)


def _reporter(observed: ObservedValue, values_by_source: Mapping[str, int]) -> str:
    """Return a value's source; if the source has several values, also its object with this one, if known."""
    has_several = values_by_source[observed.source] > 1
    return f"{observed.source} ({observed.object_name})" if has_several and observed.object_name else observed.source


def _may_be_one_zone(zones: Collection[str]) -> bool:
    """Return whether different texts are at most one id and one name of a zone, which can be of the same zone."""
    ids = sum(bool(_ZONE_ID.fullmatch(zone)) for zone in zones)
    return ids <= 1 and len(zones) - ids <= 1


def _finding_for(
    slot: OccupiedSlot, expected: str, observed: str, *evidence: ObservedValue | MachineObservation
) -> FindingDraft:
    return FindingDraft(slot.address, slot.instance, expected, observed, _observation_ids(*evidence))


def _observation_ids(*evidence: ObservedValue | MachineObservation) -> tuple[int, ...]:
    return tuple(sorted({item.observation for item in evidence}))


def _format_value(value: object) -> str:
    return " ".join(str(part) for part in value if part is not None) if isinstance(value, tuple) else str(value)


def _is_failed_check(observed: ObservedValue) -> bool:
    """Return whether a source reports a state because a check failed, rather than because the server is cordoned."""
    return observed.value.state in find_source(observed.source).failure_states and observed.value.reason != CORDONED


def _latest_by_source(machine: Machine | None) -> dict[str, MachineObservation]:
    """Return the latest observation of a machine by each source."""
    latest: dict[str, MachineObservation] = {}
    for observation in machine.observations if machine else ():
        latest.setdefault(observation.source, observation)
    return latest
