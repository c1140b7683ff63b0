"""Draw a place as its level suggests: a domain's wiring or jobs, a rack, a cluster, its free blocks, or its fabric."""

from typing import Final

from trninv.drawing.capacity_map import draw_capacity, read_free_blocks
from trninv.drawing.fabric_contents import read_fabric
from trninv.drawing.fleet_map import COLORINGS, draw_fleet
from trninv.drawing.job_map import draw_jobs, read_job_overlay
from trninv.drawing.rack_contents import read_rack
from trninv.drawing.rack_elevation import draw_rack
from trninv.drawing.tier_diagram import draw_fabric
from trninv.drawing.wiring_diagram import draw_wiring, read_diagram
from trninv.errors import InvalidArgumentError, UsageError, WrongLevelError, suggestion
from trninv.inventory.address.lookup import resolve_place
from trninv.routing.cluster_overview import read_overview
from trninv.routing.notebook_methods import build_graph
from trninv.routing.picture import Highlight
from trninv.routing.snapshot import Snapshot

FABRIC_SUFFIX: Final = "/fabric"
"""What follows the name of a cluster whose fabric is drawn."""


def draw_place(
    snapshot: Snapshot,
    scope: str,
    highlight: Highlight | None = None,
    *,
    jobs: bool = False,
    color_by: str | None = None,
) -> str:
    """Return an SVG of a place; only the wiring of a domain shows a highlight or a scenario.

    Parameters
    ----------
    scope
        A place, or CLUSTER/fabric.
    jobs
        Color the chips of a domain by job; of a cluster of several domains, show the free blocks.
    color_by
        What the colors of a cluster's chips show, one of `COLORINGS`.

    Raises
    ------
    InvalidArgumentError
        There is no such coloring.
    UsageError, WrongLevelError
        The place can't be drawn like that, or the highlight leaves it.

    """
    if color_by is not None and color_by not in COLORINGS:
        raise InvalidArgumentError(f"no coloring {color_by!r:.60}: {suggestion(color_by[:60], COLORINGS)}")
    if jobs:
        return _draw_jobs(snapshot, scope, highlight)
    name = scope.strip().lower()
    place = resolve_place(snapshot.connection, name.removesuffix(FABRIC_SUFFIX))
    is_fabric = name.endswith(FABRIC_SUFFIX) and place.level == "cluster"
    cluster = read_overview(snapshot.connection, place.address) if place.level == "cluster" and not is_fabric else None
    overview = cluster if cluster and cluster.domains > 1 else None
    if color_by and not overview:
        raise UsageError(f"{place.address}: coloring needs a cluster of several domains")
    if not (is_fabric or overview or place.level == "rack"):
        return draw_marked_wiring(snapshot, scope, highlight or Highlight())
    if highlight is not None or snapshot.changes.domains or snapshot.changes.network_nodes:
        raise UsageError(f"{scope}: marks and a scenario can only be drawn in the wiring of a domain")
    if is_fabric:
        return draw_fabric(read_fabric(snapshot.connection, place)).to_file()
    if overview:
        return draw_fleet(overview, color_by or "state")
    return draw_rack(read_rack(snapshot.connection, place)).to_file()


def _draw_jobs(snapshot: Snapshot, scope: str, highlight: Highlight | None) -> str:
    """Draw the jobs of a domain and a proposed one, or the free blocks of a cluster of several domains."""
    place = resolve_place(snapshot.connection, scope)
    blocks, sizes = read_free_blocks(snapshot, place.address) if place.level == "cluster" else ((), ())
    if len(blocks) > 1:
        if highlight:
            raise UsageError(f"{place.address} has many domains: name one, such as {place.address}/d0")
        return draw_capacity(place.address, blocks, sizes)
    diagram, marks = read_diagram(snapshot.connection, scope), highlight or Highlight()
    return draw_jobs(diagram, read_job_overlay(snapshot, diagram), list(marks.nodes), marks.caption).to_file()


def draw_marked_wiring(snapshot: Snapshot, scope: str, marks: Highlight) -> str:
    """Return an SVG of the wiring of a domain, or of a place in one, with what a highlight marks.

    Raises
    ------
    WrongLevelError
        The place has more than one domain, or a mark is outside of it.

    """
    diagram = read_diagram(snapshot.connection, scope)
    drawn = {part.address for part in diagram.parts}
    marked = [*marks.nodes, *(end for link in marks.links for end in sorted(link))]
    if outside := next((address for address in marked if address not in drawn), None):
        raise WrongLevelError(f"the marks leave {scope} at {outside}; draw the domain instead")
    return draw_wiring(diagram, build_graph(snapshot, scope), marks)
