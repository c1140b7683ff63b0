"""Read what EFA devices (NICs) carry, by their links to chips and into the fabric."""

from collections.abc import Sequence
from typing import NamedTuple

from trninv.routing.snapshot import Snapshot
from trninv.routing.wiring import domains_of_nodes


class NicBandwidths(NamedTuple):
    """What NICs carry in one direction, in bytes per second by node id, and the models of their links that are up."""

    by_nic: dict[int, int]
    link_models: set[str]


def nic_bandwidths(snapshot: Snapshot, nics: Sequence[int]) -> NicBandwidths:
    """Return what each NIC (its node id) carries; 0 if it or its links are down.

    That is the lesser of its links to chips together and, if the fabric is seeded, those into it.
    """
    wiring = snapshot.load(domains_of_nodes(snapshot.connection, nics), fabric=True)
    has_fabric = any(node["kind"] == "network_node" for node in wiring.nodes.values())
    bandwidths, models = dict[int, int](), set[str]()
    for nic in nics:
        sides = {"chip": 0} | ({"network_node": 0} if has_fabric else {})
        for neighbor, link in wiring.links.get(nic, {}).items():
            sides[wiring.nodes[neighbor]["kind"]] += link["capacity"]
            models.add(link["model"])
        bandwidths[nic] = min(sides.values())
    return NicBandwidths(bandwidths, models)
