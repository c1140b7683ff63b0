"""List the drift rules, with the severity and meaning of their findings."""

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
    "instance-type-unexpected": FindingRule("high", "The instance has another type than its slot's server model."),
    "server-unbound": FindingRule("medium", "The slot has no instance."),
    "instance-unplaced": FindingRule("medium", "An observed instance has no slot."),
    "instance-gone": FindingRule("high", "A newer complete listing lacks the slot's instance."),
    "instance-replaced": FindingRule("info", "Another instance took the slot."),
    "chip-missing": FindingRule("high", "A chip of the design is missing."),
    "chip-extra": FindingRule("high", "A chip was reported that the design does not have."),
    "view-partial": FindingRule(
        "info", "A source sees only part of the server, such as a container; no chip is reported missing."
    ),
    "neighbour-wrong": FindingRule("high", "The driver's table links a chip to other chips than the design."),
    "memory-wrong": FindingRule("high", "A chip has a different memory size than its model."),
    "cores-wrong": FindingRule("medium", "A chip has a different number of cores than its model."),
    "lnc-differs": FindingRule("medium", "Servers of a domain have different logical core configurations."),
    "numa-wrong": FindingRule("medium", "A chip is at another NUMA node than documented for its server type."),
    "efa-map-wrong": FindingRule("medium", "A chip has another EFA device than documented for its server type."),
    "domain-split": FindingRule("high", "Servers of a domain are in different UltraServers or capacity blocks."),
    "domain-overfull": FindingRule(
        "high", "An UltraServer or capacity block has more instances than its domain has servers."
    ),
    "node-id-duplicate": FindingRule("high", "Several instances have the same position in an UltraServer."),
    "node-order-wrong": FindingRule("medium", "An UltraServer's ring has another order than its domain."),
    "side-link-down": FindingRule("high", "The links of a server to a neighbour in its UltraServer are down."),
    "interconnect-impaired": FindingRule("high", "EC2 reports the interconnect of a capacity block as impaired."),
    "network-node-moved": FindingRule("medium", "An instance is below another network node than before."),
    "fabric-inconsistent": FindingRule("medium", "The instances' network nodes do not match those of the design."),
    "ecc-uncorrected": FindingRule("high", "A chip's counter of uncorrected memory errors increased."),
    "field-missing": FindingRule(
        "medium", "No source reports a field that a source should report; it is not compared."
    ),
    "health-condition": FindingRule("high", "A manager reports a server or a chip as unhealthy."),
    "state-differs": FindingRule("medium", "A manager reports another state than the inventory."),
    "stale": FindingRule("info", "The observations of an instance are old."),
    "conflict-between-sources": FindingRule("medium", "Sources with fresh observations disagree."),
}
