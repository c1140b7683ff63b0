"""List the rules of drift detection, with the severity and meaning of their findings.

A finding is a difference between the design and what machines report. `trninv.reconcile.rules` implements the rules.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

SEVERITY_MEANINGS: Final[Mapping[str, str]] = {
    "info": "For information; nothing is wrong.",
    "medium": "Needs attention: the inventory and the machines disagree.",
    "high": "Hardware is missing, wrong, failing or in the wrong place.",
}
"""Ordered from least to most severe."""
SEVERITIES: Final = tuple(SEVERITY_MEANINGS)


class FindingRule(NamedTuple):
    """The severity and meaning of a rule's findings."""

    severity: str
    description: str


FINDING_RULES: Final[Mapping[str, FindingRule]] = {
    "instance-type-unexpected": FindingRule("high", "The instance has a different type from its slot's server model."),
    "server-unbound": FindingRule("medium", "The slot has no instance."),
    "instance-unplaced": FindingRule("medium", "An observed instance has no slot."),
    "instance-gone": FindingRule("high", "The slot's instance is missing from a newer complete listing."),
    "instance-replaced": FindingRule("info", "Another instance took the slot."),
    "chip-missing": FindingRule("high", "A chip of the design is missing."),
    "chip-extra": FindingRule("high", "A source reports a chip that the design does not have."),
    "view-partial": FindingRule(
        "info", "A source sees only part of the server, such as a container; no chip is reported missing."
    ),
    "neighbour-wrong": FindingRule("high", "The driver's table links a chip to different chips from the design."),
    "memory-wrong": FindingRule("high", "A chip has a different memory size from its model."),
    "cores-wrong": FindingRule("medium", "A chip has a different number of cores from its model."),
    "lnc-differs": FindingRule("medium", "The servers of a domain have different logical core configurations."),
    "numa-wrong": FindingRule(
        "medium", "A chip is at a different NUMA node from the one documented for its instance type."
    ),
    "efa-map-wrong": FindingRule(
        "medium", "A chip has a different EFA device from the one documented for its instance type."
    ),
    "domain-split": FindingRule("high", "The servers of a domain are in different UltraServers or capacity blocks."),
    "domain-overfull": FindingRule(
        "high", "An UltraServer or capacity block has more instances than its domain has servers."
    ),
    "node-id-duplicate": FindingRule("high", "Several instances have the same position in an UltraServer."),
    "node-order-wrong": FindingRule(
        "medium", "The servers of an UltraServer are in a different order around its ring from those of its domain."
    ),
    "side-link-down": FindingRule("high", "The links from a server to a neighbor in its UltraServer are down."),
    "interconnect-impaired": FindingRule("high", "EC2 reports the interconnect of a capacity block as impaired."),
    "network-node-moved": FindingRule(
        "medium", "An instance is below a different network node than when it was bound."
    ),
    "scheduler-block-differs": FindingRule(
        "high", "A scheduler's topology omits a server, or has it in another block than the servers of its domain."
    ),
    "fabric-inconsistent": FindingRule(
        "medium", "The tree of network nodes above the instances differs from the design's."
    ),
    "ecc-uncorrected": FindingRule("high", "A chip's counter of uncorrected memory errors increased."),
    "field-missing": FindingRule(
        "medium", "No source reports a field that a source should report, so trninv cannot compare it."
    ),
    "health-condition": FindingRule("high", "A manager reports a server or a chip as unhealthy."),
    "state-differs": FindingRule("medium", "A manager reports a different state from the inventory's."),
    "impossible-measurement": FindingRule(
        "medium",
        "A measurement is faster than the wiring allowed at its time, so its units, direction or ranks are wrong.",
    ),
    "slow-collective": FindingRule("high", "A machine is slower than in its own earlier measurements."),
    "slower-than-peers": FindingRule("high", "A machine is slower than the other machines of its model."),
    "stale": FindingRule("info", "A source has not reported the instance for longer than the limit."),
    "conflict-between-sources": FindingRule("medium", "Fresh observations from different sources disagree."),
}
