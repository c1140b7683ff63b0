"""Group the failure patterns of domains of one model by the symmetries of the undamaged wiring.

Two patterns are equivalent if a symmetry maps the failures of one onto those of the other. A group consists of
equivalent patterns, one of which is canonical (`trninv.solvers.failure_forms`). `trninv.routing.cluster_islands` solves
only the canonical pattern, and applies the symmetries to get the nodes and links of the others.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from trninv import solvers
from trninv.routing.domain_failures import FailurePattern
from trninv.routing.wiring import Wiring, pattern_graph

if TYPE_CHECKING:
    from trninv.solvers.failure_forms import FailureForm, Part

LocalMap = Mapping[int, int]
"""A symmetry: the local number of a domain's node, by that of the corresponding node in the canonical pattern."""


@dataclass(frozen=True, slots=True)
class PatternGroup:
    """Equivalent failure patterns: the canonical one, and the symmetry that maps it onto each of them."""

    canonical: FailurePattern
    local_maps: Mapping[FailurePattern, LocalMap]


def group_patterns(
    patterns: Iterable[FailurePattern], wiring: Wiring, first_ids: Mapping[str, int]
) -> list[PatternGroup]:
    """Group equivalent failure patterns of domains of one model.

    Parameters
    ----------
    wiring
        The wiring of an undamaged domain of the model.
    first_ids
        The ids of that domain's first node and first link, by ``node`` and ``link``.

    """
    first_node, first_link = first_ids["node"], first_ids["link"]
    graph = pattern_graph(wiring, first_node)
    forms = solvers.symmetry.share_by_wiring(solvers.failure_forms.FailureForms, graph)
    link_number: dict[Part, int] = {
        (min(a, b), max(a, b)): edge["id"] - first_link for a, b, edge in graph.edges(data=True)
    }
    part_of: dict[tuple[str, int], Part] = {("node", node): (node,) for node in graph}
    part_of |= {("link", number): ends for ends, number in link_number.items()}
    maps_by_form: dict[FailureForm, dict[FailurePattern, LocalMap]] = {}
    for pattern in patterns:
        down = {number for table, number, carried_ppm in pattern if table == "node" and not carried_ppm}
        # omit links with an end that is down, which carry nothing anyway, and those below a network node that is down,
        # which the wiring lacks
        failures = {
            part_of[table, number]: carried_ppm
            for table, number, carried_ppm in pattern
            if (table, number) in part_of and (table == "node" or down.isdisjoint(part_of[table, number]))
        }
        form, local_map = forms.canonical(failures)
        maps_by_form.setdefault(form, {})[pattern] = local_map
    return [PatternGroup(_to_pattern(form, link_number), local_maps) for form, local_maps in maps_by_form.items()]


def _to_pattern(form: "FailureForm", link_number: "Mapping[Part, int]") -> FailurePattern:
    """Convert a canonical form, whose links are pairs of nodes, to a failure pattern, which has their local numbers."""
    entries = [
        ("node", part[0], carried_ppm) if len(part) == 1 else ("link", link_number[part], carried_ppm)
        for part, carried_ppm in form
    ]
    return tuple(sorted(entries))
