"""Draw a place as its level suggests, for notebooks: a domain's wiring or jobs, a rack, or a cluster."""

from trninv.drawing.fleet_map import draw_fleet
from trninv.drawing.job_map import draw_jobs, read_job_overlay
from trninv.drawing.rack_contents import read_rack
from trninv.drawing.rack_elevation import draw_rack
from trninv.drawing.wiring_diagram import draw_wiring, read_diagram
from trninv.errors import WrongLevelError
from trninv.inventory.address.lookup import resolve_place
from trninv.routing.cluster_overview import read_overview
from trninv.routing.notebook_methods import build_graph
from trninv.routing.picture import Highlight
from trninv.routing.snapshot import Snapshot


def draw_place(snapshot: Snapshot, scope: str, highlight: Highlight | None = None, *, jobs: bool = False) -> str:
    """Return an SVG of a place; only the wiring of a domain shows a highlight or a scenario.

    Raises
    ------
    WrongLevelError
        The place has more than one domain, and jobs or a highlight were asked for; or the highlight leaves it.

    """
    if jobs:
        diagram, marks = read_diagram(snapshot.connection, scope), highlight or Highlight()
        return draw_jobs(diagram, read_job_overlay(snapshot, diagram), list(marks.nodes), marks.caption).to_file()
    place = resolve_place(snapshot.connection, scope)
    is_plain = highlight is None and not (snapshot.changes.domains or snapshot.changes.network_nodes)
    if is_plain and place.level == "rack":
        return draw_rack(read_rack(snapshot.connection, place)).to_file()
    if is_plain and place.level == "cluster":
        overview = read_overview(snapshot.connection, place.address)
        if overview.domains > 1:
            return draw_fleet(overview, "state")
    return draw_marked_wiring(snapshot, scope, highlight or Highlight())


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
