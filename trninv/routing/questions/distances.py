"""Answer how many hops apart the chips of a scope are."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from trninv import solvers
from trninv.inventory.parameter import Argument
from trninv.rendered_text import Rendered, RenderedTable
from trninv.routing import cluster_islands, evidence
from trninv.routing.answer import AddressText, Answer, CitedFact, ExactInt
from trninv.routing.hop_counts import count_hops
from trninv.routing.link_selection import VIA_DESCRIPTION, DisconnectedReason, LinkSelection
from trninv.routing.question import ROUTED_COST, question
from trninv.routing.scope import Scope
from trninv.routing.snapshot import Snapshot
from trninv.units import pluralize

_DEFINITION = (
    "number of links on a shortest path between each pair of the scope's healthy chips (chip-switch-chip is two)"
)


@dataclass(frozen=True, slots=True)
class HopCount:
    """Pairs of chips that are this many hops apart."""

    hops: Annotated[int, "Number of links on a shortest path."]
    pairs: Annotated[ExactInt, "Number of pairs."]


@dataclass(frozen=True, kw_only=True)
class DistanceAnswer(Answer):
    """Hops between the pairs of a scope's healthy chips."""

    scope: Annotated[AddressText, "The scope."]
    chips: Annotated[int, "Number of healthy chips."]
    pairs: Annotated[ExactInt, "Number of pairs."]
    unreachable: Annotated[ExactInt, "Pairs that are not connected."]
    reason: DisconnectedReason
    diameter: Annotated[int | None, "Most hops of a connected pair."]
    mean: Annotated[float | None, "Mean hops of the connected pairs."]
    by_hops: Annotated[tuple[HopCount, ...], "Number of pairs by hops."]

    def render(self) -> Rendered:
        yield f"{self.scope}: {pluralize(self.chips, 'chip')}, {pluralize(self.pairs, 'pair')}"
        if self.mean is not None:
            yield f"diameter {pluralize(self.diameter or 0, 'hop')}, mean {self.mean:.3f}"
            yield RenderedTable(
                ["hops", "pairs"], ([hop_count.hops, f"{hop_count.pairs:,}"] for hop_count in self.by_hops)
            )
        if self.unreachable:
            yield f"{pluralize(self.unreachable, 'pair')} not connected: {self.reason}"

    def value_lines(self) -> Sequence[object]:
        return () if self.diameter is None else [pluralize(self.diameter, "hop")]

    def render_comparison(self) -> Rendered:
        if self.baseline and self.baseline.mean is not None:
            yield f"baseline: diameter {self.baseline.diameter}, mean {self.baseline.mean:.3f}"


@question(cost=ROUTED_COST, examples=("distances u-trn2x64", "distances u-trn2x64 --via any"))
def distances(
    snapshot: Snapshot,
    scope: Annotated[str, Argument("Chip, core, server, rack, domain or cluster.", metavar="SCOPE")],
    via: Annotated[LinkSelection | None, Argument(VIA_DESCRIPTION)] = None,
) -> DistanceAnswer:
    """Measure the hops between a scope's chips: diameter, mean, distribution."""
    resolved_scope = Scope.resolve(snapshot, scope, forwarding=True)
    selection = LinkSelection.for_domains(resolved_scope.domains, via)
    if selection is LinkSelection.SCALE_UP and len(resolved_scope.domains) == 1:
        scope_graph = resolved_scope.graph(snapshot, "this")
        chips = len(scope_graph.endpoints)
        histogram = solvers.distances.pairs_in_graph(dict(scope_graph.graph.adjacency()), scope_graph.endpoints)
        facts: tuple[CitedFact, ...] = ()
    else:
        classes = cluster_islands.read_domain_classes(snapshot, resolved_scope)
        chips = sum(domain_class.island.chip_count * len(domain_class.domains) for domain_class in classes)
        histogram = count_hops(snapshot, resolved_scope, classes, selection)
        nodes = (attributes for domain_class in classes for attributes in domain_class.island.graph.nodes.values())
        facts = evidence.cite_fabric(snapshot, nodes) if selection is LinkSelection.ANY else ()
    pairs, connected_pairs = chips * (chips - 1) // 2, int(histogram.sum())
    by_hops = tuple(HopCount(hops, count) for hops, count in enumerate(histogram.tolist()) if count)
    return DistanceAnswer(
        scope=resolved_scope.place.address,
        chips=chips,
        pairs=pairs,
        unreachable=pairs - connected_pairs,
        reason=_disconnected_reason(snapshot, resolved_scope, selection, pairs, connected_pairs),
        diameter=by_hops[-1].hops if by_hops else None,
        mean=sum(hop_count.hops * hop_count.pairs for hop_count in by_hops) / connected_pairs
        if connected_pairs
        else None,
        by_hops=by_hops,
        definition=_DEFINITION + selection.definition_suffix,
        via=selection,
        facts=facts,
    )


def _disconnected_reason(
    snapshot: Snapshot, scope: Scope, selection: LinkSelection, pairs: int, connected_pairs: int
) -> str | None:
    """Return that some pairs are not connected, and how many of them EFA would connect; None if all are connected."""
    if pairs == connected_pairs:
        return None
    subject = pluralize(pairs - connected_pairs, "pair")
    if selection is LinkSelection.ANY:
        return selection.disconnected_reason(subject)
    classes = cluster_islands.read_domain_classes(snapshot, scope)
    more_pairs = int(count_hops(snapshot, scope, classes, LinkSelection.ANY).sum()) - connected_pairs
    alternative = f"{more_pairs:,} of them are connected" if more_pairs else "none of them is connected"
    return selection.disconnected_reason(subject, alternative)
