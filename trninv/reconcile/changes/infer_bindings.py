"""Infer which instance is in which slot."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Final

from sqlalchemy import Connection

from trninv.catalog.instance_types import UNCLAIMED_REASON, UnclaimedType, render_unclaimed
from trninv.errors import WrongLevelError
from trninv.inventory.address.hostnames import DEFAULT_TEMPLATE
from trninv.inventory.address.lookup import Place, resolve_place
from trninv.inventory.change import change
from trninv.inventory.parameter import Argument
from trninv.inventory.state import bindings
from trninv.inventory.state.bindings import BindingChanges
from trninv.reconcile.domain_assignment import UnassignedMachine
from trninv.reconcile.identification import MACHINE_EXPIRY, identify
from trninv.rendered_text import Rendered, RenderedTable
from trninv.units import pluralize

_HOUR: Final = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class InferredBindings(BindingChanges):
    """Inferred bindings, those that they ended, and the machines without a slot.

    Attributes
    ----------
    unclaimed_types
        Instance types that no model in the catalog claims; their machines get no slot.
    unlisted_count
        Number of machines without a slot that fit none of the cluster, and perhaps one of another.

    """

    unassigned: tuple[UnassignedMachine, ...] = ()
    unclaimed_types: tuple[UnclaimedType, ...] = ()
    unlisted_count: int = 0


def _render(inferred: InferredBindings) -> Rendered:
    # machines of unclaimed types are not listed one by one: render_unclaimed counts them by type
    unassigned = [machine for machine in inferred.unassigned if machine.why != UNCLAIMED_REASON]
    if not inferred.created and not unassigned:
        if (count := inferred.unlisted_count) == 0:
            yield "no new bindings: every reported machine has a slot"
        else:
            fit = "fits" if count == 1 else "fit"
            machines = f"{pluralize(count, 'machine')} without a slot {fit} none of this cluster"
            yield f"no new bindings: {machines}: trninv infer-bindings"
    yield from inferred.render()
    if unassigned:
        yield ""
        cells = ([machine.name, machine.why, _render_candidates(machine)] for machine in unassigned)
        yield RenderedTable(["without a slot", "why", "candidates"], cells)
    yield from render_unclaimed(inferred.unclaimed_types)


def _render_candidates(machine: UnassignedMachine) -> str:
    more = machine.count - len(machine.candidates)
    return ", ".join(machine.candidates) + (f" and {more:,} more" if more else "")


@change(
    scope="operate",
    returns={
        "created": "The new bindings.",
        "ended": "Bindings that ended: the previous ones of these slots and instances.",
        "unassigned": "Machines without a slot, and why.",
        "unclaimed_types": "Instance types that no model in the catalog claims; their machines get no slot.",
        "unlisted_count": "Number of machines without a slot that fit none of the cluster, and perhaps one of another.",
    },
    undo="`trninv unbind SLOT` for each new binding; the same observations do not infer it again.",
    render=_render,
    examples=("infer-bindings lab --dry-run", "infer-bindings"),
)
def infer_bindings(
    connection: Connection,
    cluster: Annotated[
        str | None, Argument("A cluster; by default all clusters.", positional=True, metavar="[CLUSTER]")
    ] = None,
    *,
    who: str,
    in_order: Annotated[bool, Argument("Whether to assign instances in order if several slots fit equally.")] = False,
    hostname: Annotated[
        str,
        Argument(
            "Pattern of host names, for machines that are named after their slots.", metavar="TEMPLATE", is_text=True
        ),
    ] = DEFAULT_TEMPLATE,
    max_age: Annotated[
        float,
        Argument(
            "Ignore machines whose last report is this many hours older than the newest report.",
            maximum=1_000_000,
            metavar="HOURS",
        ),
    ] = MACHINE_EXPIRY / _HOUR,
) -> InferredBindings:
    """Bind instances to the slots that imported observations put them in.

    Earlier bindings of the slots and of the instances end. Inference never guesses: an instance that fits several slots
    is listed with its candidates.
    """
    place = None if cluster is None else _require_cluster(resolve_place(connection, cluster))
    expiry = timedelta(hours=max_age)
    identified = identify(connection, place, template=hostname, expiry=expiry, in_order=in_order)
    changes = bindings.bind(connection, identified.proposed_bindings, who=who)
    return InferredBindings(
        changes.created, changes.ended, identified.unassigned, identified.unclaimed_types, identified.unlisted_count
    )


def _require_cluster(place: Place) -> Place:
    if place.level != "cluster":
        raise WrongLevelError(f"{place.address} is a {place.level}: name a cluster, or nothing for all clusters")
    return place
