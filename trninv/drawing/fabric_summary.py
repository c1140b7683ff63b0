"""Sum up a fabric by tiers and by jobs that cross, for the page beside the picture."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from trninv.drawing.fabric_contents import Fabric, FabricJob
from trninv.units import Bandwidth, pluralize

_MAX_INSIDE: Final = 24
"""Most jobs below one node that are named."""


def describe_tiers(fabric: Fabric) -> list[dict[str, Any]]:
    """Return, for each tier from below, what comes from below and what its uplinks carry, as designed and now."""
    tiers = []
    for tier in sorted({node.tier for node in fabric.nodes}, reverse=True):
        nodes = [node for node in fabric.nodes if node.tier == tier]
        linked = [node.id for node in nodes if node.id in fabric.uplinks]
        tiers.append(
            {
                "tier": tier,
                "nodes": len(nodes),
                "unhealthy": sum(node.state != "up" for node in nodes),
                "below": sum(fabric.carried.get(node.id, 0) for node in nodes),
                "belowDesigned": sum(fabric.attached.get(node.id, 0) for node in nodes),
                "upward": sum(fabric.capacities[node] for node in linked) if linked else None,
                "worst": _worst_node(fabric, linked, nodes),
                "upwardDesigned": sum(fabric.uplinks[node].bandwidth_bytes_per_s for node in linked) or None,
            }
        )
    return tiers


def summarize_tier(tier: Mapping[str, Any]) -> str:
    """Return a tier of `describe_tiers` in words: "tier 3: 2 network nodes, 16,000 GB/s upward"."""
    upward = "" if tier["upward"] is None else f", {Bandwidth(tier['upward'])} upward"
    return f"tier {tier['tier']}: {pluralize(tier['nodes'], 'network node')}{upward}"


def _worst_node(fabric: Fabric, linked: Sequence[int], nodes: Sequence[Any]) -> dict[str, Any] | None:
    """Return the node whose uplink is the most over-subscribed; its ratio is None if the uplink carries nothing."""
    if not linked:
        return None
    names = {node.id: f"t{node.tier}/n{node.ordinal}" for node in nodes}
    ratios = {node: fabric.carried.get(node, 0) / (fabric.capacities[node] or 1e-9) for node in linked}
    worst = max(linked, key=lambda node: (not fabric.capacities[node], ratios[node]))
    return {"name": names[worst], "ratio": round(ratios[worst], 2) if fabric.capacities[worst] else None}


def describe_jobs(fabric: Fabric) -> dict[str, Any]:
    """Return the jobs that cross, with the share of its uplink that each could take, and the largest others."""
    names = {node.id: f"t{node.tier}/n{node.ordinal}" for node in fabric.nodes}
    return {
        "all": len(fabric.jobs),
        "inside": [_name_job(job) for job in fabric.jobs.values() if not job.is_crossing][:_MAX_INSIDE],
        "crossing": [
            {
                **_name_job(job),
                "chips": job.chips,
                "nodes": [
                    {"name": names[node], "bandwidth": bandwidth, "uplink": fabric.capacities.get(node, 0)}
                    for node, bandwidth in sorted(job.bandwidths.items())
                ],
            }
            for job in fabric.jobs.values()
            if job.is_crossing
        ],
    }


def _name_job(job: FabricJob) -> dict[str, Any]:
    return {"name": job.name, "address": job.address_name, "ordinal": job.ordinal}


def format_ratio(below: int, upward: int) -> str:
    """Return over-subscription with at most two decimals: 1.33; less than 1 if less comes from below than upward."""
    return f"{below / max(upward, 1):.2f}".rstrip("0").rstrip(".")
