"""List the rules of drift detection, with the severity and meaning of their findings.

A finding is a difference between the design and what machines report. `trninv.reconcile.rules` implements the rules.
"""

import re
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
    """The severity and meaning of a rule's findings.

    Attributes
    ----------
    compared, reference
        What is compared, and with what; docs/reference/drift.md is written from these.
    is_failure
        Whether what is at the address of its findings has failed.
    names_source
        Whether the observed text ends with the source.
    """

    severity: str
    description: str
    compared: str
    reference: str
    is_failure: bool = False
    names_source: bool = False


FINDING_RULES: Final[Mapping[str, FindingRule]] = {
    "instance-type-unexpected": FindingRule(
        "high",
        "The instance has a different type from its slot's server model.",
        "the instance type that any source reports",
        "the type of the slot's server model",
    ),
    "server-unbound": FindingRule(
        "medium",
        "The slot has no instance.",
        "slots that are up or degraded, in clusters with at least one binding",
        "bindings",
    ),
    "instance-unplaced": FindingRule(
        "medium",
        "An observed instance has no slot.",
        "fresh observations of instances whose type is in the catalog",
        "bindings",
    ),
    "instance-gone": FindingRule(
        "high",
        "The slot's instance is missing from a newer complete listing.",
        "the latest complete listing by EC2 or Kubernetes",
        "an earlier complete listing that has the instance",
        is_failure=True,
    ),
    "instance-replaced": FindingRule(
        "info",
        "Another instance took the slot.",
        "bindings that ended in the last 24 hours",
        "the slot's present binding",
    ),
    "chip-missing": FindingRule(
        "high",
        "A chip of the design is missing.",
        "chips that neuron-ls or ResourceSlices list, unless the list is partial; "
        "allocatable chips that Kubernetes counts",
        "the chips of the slot's server model",
        is_failure=True,
    ),
    "chip-extra": FindingRule(
        "high",
        "A source reports a chip that the design does not have.",
        "chips that any source lists or counts",
        "the chips of the slot's server model",
    ),
    "view-partial": FindingRule(
        "info",
        "A source sees only part of the server, such as a container; no chip is reported missing.",
        "chips that neuron-ls or ResourceSlices list",
        "the chips of the slot's server model",
    ),
    "neighbour-wrong": FindingRule(
        "high",
        "The driver's table links a chip to different chips from the design.",
        "`connected_to` in neuron-ls, which is the driver's table; not for chips behind switches",
        "the links of the design",
    ),
    "memory-wrong": FindingRule(
        "high",
        "A chip has a different memory size from its model.",
        "the memory that neuron-ls or neuron-monitor reports for a chip",
        "the memory of the chip model",
    ),
    "cores-wrong": FindingRule(
        "medium",
        "A chip has a different number of cores from its model.",
        "logical cores times the logical core configuration, or `core_count` in sysfs",
        "the cores of the chip model",
    ),
    "lnc-differs": FindingRule(
        "medium",
        "The servers of a domain have different logical core configurations.",
        "the logical core configuration that neuron-ls or neuron-monitor reports for a server",
        "those of the other servers of its domain",
    ),
    "numa-wrong": FindingRule(
        "medium",
        "A chip is at a different NUMA node from the one documented for its instance type.",
        "the NUMA node that neuron-ls reports for a chip",
        "the documented NUMA node for the instance type",
    ),
    "efa-map-wrong": FindingRule(
        "medium",
        "A chip has a different EFA device from the one documented for its instance type.",
        "the EFA device that a ResourceSlice reports for a chip",
        "the documented EFA device for the instance type",
    ),
    "domain-split": FindingRule(
        "high",
        "The servers of a domain are in different UltraServers or capacity blocks.",
        "the UltraServer (from the driver) and the capacity block of a server",
        "those of the other servers of its domain",
    ),
    "domain-overfull": FindingRule(
        "high",
        "An UltraServer or capacity block has more instances than its domain has servers.",
        "the number of instances in an UltraServer or capacity block",
        "the number of servers in a domain",
    ),
    "node-id-duplicate": FindingRule(
        "high",
        "Several instances have the same position in an UltraServer.",
        "the position that the driver reports for an instance in its UltraServer",
        "those of the other instances in the UltraServer",
    ),
    "node-order-wrong": FindingRule(
        "medium",
        "The servers of an UltraServer are in a different order around its ring from those of its domain.",
        "the order in which the driver numbers the servers around their ring",
        "the order of the design",
    ),
    "side-link-down": FindingRule(
        "high",
        "The links from a server to a neighbor in its UltraServer are down.",
        "the link status in NeuronUltraServer objects: side H leads to the other rack, side V stays within the rack",
        "the status up",
    ),
    "interconnect-impaired": FindingRule(
        "high",
        "EC2 reports the interconnect of a capacity block as impaired.",
        "`InterconnectStatus` of EC2's capacity blocks; `insufficient-data` is ignored",
        "the status ok",
    ),
    "network-node-moved": FindingRule(
        "medium",
        "An instance is below a different network node than when it was bound.",
        "the network node directly above an instance",
        "the network node above it when it was bound",
    ),
    "scheduler-block-differs": FindingRule(
        "high",
        "A scheduler's topology omits a server, or has it in another block than the servers of its domain.",
        "the block in Slurm, Kueue or the labels of a Kubernetes node",
        "the block of most servers of the domain",
    ),
    "fabric-inconsistent": FindingRule(
        "medium",
        "The tree of network nodes above the instances differs from the design's.",
        "the tree of network nodes above the instances",
        "the tree of the design",
    ),
    "ecc-uncorrected": FindingRule(
        "high",
        "A chip's counter of uncorrected memory errors increased.",
        "the counters of uncorrected errors in sysfs and neuron-monitor",
        "their first value since the last reset",
    ),
    "field-missing": FindingRule(
        "medium",
        "No source reports a field that a source should report, so trninv cannot compare it.",
        "the chip fields that a source should report",
        "the fields that at least one source reports for each chip",
    ),
    "health-condition": FindingRule(
        "high",
        "A manager reports a server or a chip as unhealthy.",
        "conditions and taints of Kubernetes nodes and devices, labels and status of HyperPod, "
        "errors of neuron-monitor",
        "a healthy status",
        is_failure=True,
        names_source=True,
    ),
    "state-differs": FindingRule(
        "medium",
        "A manager reports a different state from the inventory's.",
        "the state that a manager reports for a server",
        "the server's state in the inventory",
    ),
    "impossible-measurement": FindingRule(
        "medium",
        "A measurement is faster than the wiring allowed at its time, so its units, direction or ranks are wrong.",
        "the latest measurement of each kind by the machine in the slot",
        "the limit of the wiring at its time",
    ),
    "slow-collective": FindingRule(
        "high",
        "A machine is slower than in its own earlier measurements.",
        "the latest measurement of each kind",
        "80 % of the median of its earlier ones that were not slow, if there are at least two",
    ),
    "slower-than-peers": FindingRule(
        "high",
        "A machine is slower than the other machines of its model.",
        "the latest collective of each kind in the slot's server",
        "median - 3 MAD (median absolute deviations, each at least 1 % of the median) of all machines of the "
        "model, if there are at least five",
    ),
    "stale": FindingRule(
        "info",
        "A source has not reported the instance for longer than the limit.",
        "when each source last reported a bound instance",
        "one hour ago, or the age in `--stale-after`",
    ),
    "conflict-between-sources": FindingRule(
        "medium",
        "Fresh observations disagree.",
        "what a source freshly reports about an instance",
        "what other sources freshly report about it; for its type, other records of the same source too",
    ),
}


_SIDE_LINKS: Final = re.compile(r"side [HV] down: (\d{1,3}) links to (\S+)", re.ASCII)


def describe_side(side: str, chips: int, neighbor: str | None) -> str:
    """Return the observed text of a side that is down, whose links lead to a neighbor of as many chips, if known."""
    return f"side {side} down" if neighbor is None else f"side {side} down: {chips} links to {neighbor}"


def failed_parts(rule: str, address: str | None, observed: str | None) -> tuple[str, ...]:
    """Return the parts that a finding reports as failed, which `trninv drift --apply` sets down or in maintenance.

    They follow from what is stored of a finding, so that whoever counts findings knows them as well as a comparison.
    """
    if rule == "side-link-down":
        links = _SIDE_LINKS.fullmatch(observed or "")
        return tuple(f"{address}/c{chip}--{links[2]}/c{chip}" for chip in range(int(links[1]))) if links else ()
    # a source that only counts chips does not say which is missing, so the finding is about their server
    is_counted = rule == "chip-missing" and not re.search(r"/c\d+$", address or "")
    is_failure = rule in FINDING_RULES and FINDING_RULES[rule].is_failure
    return (address,) if address is not None and is_failure and not is_counted else ()
