"""List the rules of drift, with the severity and meaning of what each finds."""

from collections.abc import Mapping
from typing import Final, NamedTuple

SEVERITY_MEANINGS: Final[Mapping[str, str]] = {
    "info": "Worth knowing; nothing is wrong.",
    "medium": "To be looked at: the inventory and the machines do not agree.",
    "high": "Hardware is missing, wrong or failing, or stands where it should not.",
}
"""Ordered from least to most severe."""
SEVERITIES: Final = tuple(SEVERITY_MEANINGS)


class FindingRule(NamedTuple):
    """The severity and meaning of a rule's findings."""

    severity: str
    description: str


FINDING_RULES: Final[Mapping[str, FindingRule]] = {
    "instance-type-unexpected": FindingRule("high", "The instance is of another type than its slot's server model."),
    "server-unbound": FindingRule("medium", "No instance stands in the slot."),
    "instance-unplaced": FindingRule("medium", "An instance was seen that stands in no slot."),
    "instance-gone": FindingRule("high", "A whole listing no longer has the slot's instance."),
    "instance-replaced": FindingRule("info", "Another instance took the slot."),
    "chip-missing": FindingRule("high", "A chip of the design is not there."),
    "chip-extra": FindingRule("high", "A chip is there that the design has not."),
    "view-partial": FindingRule(
        "info", "A part of the server was seen, as a container does: nothing is called missing."
    ),
    "neighbour-wrong": FindingRule("high", "The driver's table joins a chip with others than the design."),
    "memory-wrong": FindingRule("high", "A chip has other memory than its model."),
    "cores-wrong": FindingRule("medium", "A chip has another number of cores than its model."),
    "lnc-differs": FindingRule("medium", "Servers of a domain have different logical core configurations."),
    "numa-wrong": FindingRule("medium", "A chip is at another NUMA node than on other servers of its type."),
    "efa-map-wrong": FindingRule(
        "medium", "A chip is joined with another EFA device than on other servers of its type."
    ),
    "domain-split": FindingRule("high", "Servers of a domain are in different UltraServers or capacity blocks."),
    "domain-overfull": FindingRule(
        "high", "An UltraServer or capacity block has more instances than its domain has servers."
    ),
    "node-id-duplicate": FindingRule("high", "Two instances have the same place in an UltraServer."),
    "node-order-wrong": FindingRule("medium", "An UltraServer's ring has another order than its domain's."),
    "side-link-down": FindingRule("high", "The links of a server towards a neighbour in its UltraServer are down."),
    "interconnect-impaired": FindingRule("high", "EC2 calls what joins the servers of a capacity block impaired."),
    "network-node-moved": FindingRule("medium", "The network node above an instance is another than before."),
    "fabric-inconsistent": FindingRule("medium", "The instances' network nodes can't be those of the design."),
    "ecc-uncorrected": FindingRule("high", "A chip has counted more uncorrected errors of memory."),
    "field-missing": FindingRule(
        "medium", "A source does not report what it should, nor does another: it is not compared."
    ),
    "health-condition": FindingRule("high", "Its manager calls a server or a chip unhealthy."),
    "state-differs": FindingRule("medium", "Its manager has it in another state than the inventory."),
    "stale": FindingRule("info", "What is known of an instance is old."),
    "conflict-between-sources": FindingRule("medium", "Two sources that are both fresh disagree."),
}
