"""Declare the drift rules about measurements: faster than the wiring, slower than before, slower than peers.

Texts of findings name no bandwidth, so that a finding stays the same while the machine is measured again.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from statistics import median
from typing import Final

from trninv.reconcile.drift_input import CounterIncrease, DriftInput
from trninv.reconcile.link_suspects import suspected_link
from trninv.reconcile.measured_runs import Run, possible
from trninv.reconcile.occupied_slots import OccupiedSlot
from trninv.reconcile.rules.registry import FLEET_RULES, FindingDraft, FindingDrafts

SLOW_SHARE: Final = 0.8
"""A run is slow below this share of the median of the machine's earlier runs."""
MIN_EARLIER_RUNS: Final = 2
MIN_PEERS: Final = 4
"""The least number of other machines of a model whose speed is a standard."""
MAD_FACTOR: Final = 3
MIN_DEVIATION: Final = 0.01
"""The least median absolute deviation, as a share of the median: machines that are all alike still vary a little."""


@FLEET_RULES("impossible-measurement")
def check_impossible_measurement(drift_input: DriftInput, _: list[CounterIncrease]) -> FindingDrafts:
    """Find machines whose latest run of a series is above the limit of the wiring at its time."""
    for slot in drift_input.slots:
        latest = (runs[-1] for runs in drift_input.measured_runs.get(slot.address, ()))
        yield from _one_per_operation(
            slot, [run for run in latest if run.is_impossible], "at most the limit of the wiring", "above the limit"
        )


@FLEET_RULES("slow-collective")
def check_slow_collective(drift_input: DriftInput, _: list[CounterIncrease]) -> FindingDrafts:
    """Find machines whose latest run of a series is slower than their own earlier runs."""
    expected = f"at least {SLOW_SHARE:.0%} of the median of its earlier runs"
    for slot in drift_input.slots:
        series = drift_input.measured_runs.get(slot.address, ())
        slow = [runs[-1] for runs in series if is_slow(possible(runs))]
        if slow:
            since = min(run.measured_at for run in slow)  # an older fast run says nothing about now
            fast = [runs[-1] for runs in series if runs[-1] not in slow and runs[-1].measured_at >= since]
            suspect = suspected_link(drift_input.chip_links(slot), slow, fast)
            cause = f"; likely cause: the link {suspect}" if suspect else ""
            yield from _one_per_operation(slot, slow, expected, f"slower than before{cause}")


def is_slow(runs: Sequence[Run]) -> bool:
    """Return whether the last of a machine's runs is slow; slow runs do not lower the median of later ones."""
    earlier, slow = list[int](), False
    for run in runs:
        slow = len(earlier) >= MIN_EARLIER_RUNS and run.bus_bandwidth < SLOW_SHARE * median(earlier)
        if not slow:
            earlier.append(run.bus_bandwidth)
    return slow


@FLEET_RULES("slower-than-peers")
def check_slower_than_peers(drift_input: DriftInput, _: list[CounterIncrease]) -> FindingDrafts:
    """Find machines below median - 3 MAD of the latest runs of all machines of their model."""
    groups = defaultdict[tuple[object, ...], list[tuple[OccupiedSlot, Run]]](list)
    for slot in drift_input.slots:
        for runs in drift_input.measured_runs.get(slot.address, ()):
            if runs[-1].address == slot.address and (plausible := possible(runs[-1:])):
                groups[slot.model.slug, *runs[-1].series].append((slot, plausible[0]))
    slow = defaultdict[str, list[Run]](list)
    for members in groups.values():
        if len(members) > MIN_PEERS:
            threshold = slowest_peer([run.bus_bandwidth for _, run in members])
            for slot, run in members:
                if run.bus_bandwidth < threshold:
                    slow[slot.address].append(run)
    for slot in drift_input.slots:
        expected = f"at least median - {MAD_FACTOR} MAD of machines of {slot.model.slug}"
        yield from _one_per_operation(slot, slow.get(slot.address, ()), expected, "slower than its peers")


def slowest_peer(bandwidths: Sequence[int]) -> float:
    """Return the median less three median absolute deviations, below which a machine is slower than its peers."""
    middle = median(bandwidths)
    deviation = median(abs(bandwidth - middle) for bandwidth in bandwidths)
    return float(middle - MAD_FACTOR * max(deviation, MIN_DEVIATION * middle))


def _one_per_operation(slot: OccupiedSlot, runs: Sequence[Run], expected: str, observed: str) -> Iterator[FindingDraft]:
    """Yield a finding for each operation and data type of some runs, with all of them as evidence."""
    by_name = defaultdict[str, list[Run]](list)
    for run in runs:
        by_name[run.name].append(run)
    for name, members in sorted(by_name.items()):
        evidence = tuple(sorted({run.observation_id for run in members}))
        yield FindingDraft(slot.address, slot.instance, expected, f"{name}: {observed}", evidence)
