"""Create or extend a cluster from imported instances."""

from collections import defaultdict
from typing import Annotated, Final

from sqlalchemy import Connection

from trninv.catalog.facts import default_catalog
from trninv.catalog.models import default_systems
from trninv.deadline import Progress, silent
from trninv.inventory.change import change
from trninv.inventory.parameter import Argument
from trninv.reconcile import adoption
from trninv.reconcile.adoption import AdoptionResult
from trninv.rendered_text import Rendered, RenderedTable
from trninv.units import pluralize

_MAX_NAMES: Final = 3
"""Maximum number of machines that are named for each reason to omit them."""


def _render(result: AdoptionResult) -> Rendered:
    outcome = "adopted"
    if result.is_extended:
        outcome = "extended" if result.models else "already adopted"
    filled = f", filled {', '.join(result.filled_slots)}" if result.filled_slots else ""
    yield f"{result.cluster}: {outcome}{filled}"
    if result.models:
        yield RenderedTable(
            ["model", "domains", "instances", "empty slots"],
            ((model.model, model.domains, model.machines, model.empty_slots) for model in result.models),
        )
    if result.type_conflicts:
        count, whose = len(result.type_conflicts), "its" if len(result.type_conflicts) == 1 else "their"
        conflicts = ", ".join(
            f"{conflict.name} ({conflict.type} counts, not {' or '.join(conflict.other_types)})"
            for conflict in result.type_conflicts[:_MAX_NAMES]
        )
        ellipsis = ", …" if count > _MAX_NAMES else ""
        yield f"{pluralize(count, 'machine')} with several instance types in {whose} records: {conflicts}{ellipsis}"
    if ordered_by_id := sum(model.placed_by_order for model in result.models):
        yield (
            f"{pluralize(ordered_by_id, 'instance')} of UltraServers placed in the order of their ids, because no "
            "source reports their slots"
        )
    if result.tiers:
        tiers = ", ".join(f"{count:,} in tier {tier}" for tier, count in enumerate(result.tiers, start=1))
        yield f"network nodes: {tiers}; each uplink is assumed to carry as much as all EFA devices below it"
    # tiers counts new network nodes. The single top node of a new cluster needs no connection, but a second one does,
    # and so does any new top node of an existing cluster.
    if result.tiers and result.tiers[0] > (not result.is_extended):
        yield "no imported node connects the network nodes in tier 1, so there are no paths between them"
    names_by_reason = defaultdict[str, list[str]](list)
    for name, reason in result.skipped:
        names_by_reason[reason].append(name)
    for reason, names in names_by_reason.items():
        ellipsis = ", …" if len(names) > _MAX_NAMES else ""
        yield f"omitted: {pluralize(len(names), 'machine')} ({', '.join(names[:_MAX_NAMES])}{ellipsis}): {reason}"


@change(
    scope="admin",
    returns={
        "cluster": "The cluster.",
        "models": "Domains, machines and empty slots that were added, by model.",
        "tiers": "Number of network nodes that were added per tier, top tier first; empty if no source reports them.",
        "skipped": "Machines that are in no domain, and why.",
        "is_extended": "Whether the cluster was adopted before.",
        "filled_slots": "Slots that were empty and have an instance now; they are up again.",
        "type_conflicts": "Machines with different instance types in their records; the latest type counts.",
    },
    undo="`trninv unseed NAME` removes the cluster; domains that were added to it can't be removed alone.",
    render=_render,
    examples=("adopt prod --dry-run", "adopt prod"),
    field="",
)
def adopt(
    connection: Connection,
    name: Annotated[str, Argument("Name of the cluster.", metavar="NAME", is_text=True)],
    *,
    progress: Progress = silent,
) -> AdoptionResult:
    """Create or extend cluster NAME from imported instances.

    Every imported instance without a slot is added. Instances of one UltraServer or capacity block form a domain; any
    other instance becomes its own domain. A slot without an instance is down. The fabric consists of the network nodes
    that EC2 reports for the instances, named by their EC2 ids; each uplink is assumed to carry as much as all EFA
    devices below it. If the cluster exists, new instances fill its empty slots first and then form new domains after
    the last one. Existing parts keep their addresses, states, jobs and instances.
    """
    return adoption.adopt(connection, default_catalog(), default_systems(), name, progress)
