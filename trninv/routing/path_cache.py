"""Answer path questions between two chips from cached domain graphs.

If two domains each touch the fabric at one network node, a best path between them consists of a best path to the first
one's network node, the way through the tree above, and a best path from the second one's network node. Domains with
equal wiring share one graph in local numbers and its search results. Everything is dropped when the database changes.
Answers equal those computed on the graph of both domains.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from itertools import pairwise

from trninv.inventory.address.syntax import Address
from trninv.routing import evidence
from trninv.routing.answer import CitedFact, LinkRef, Path, WiringSource
from trninv.routing.cached_domain import (
    A,
    CachedDomain,
    Facts,
    NotCachedError,
    RevisionCache,
    is_cached_only,
    link_model,
    link_references,
    node_kind,
    read_cached_domain,
)
from trninv.routing.wiring import Wiring
from trninv.routing.wiring_cache import SnapshotReader, WiringCache
from trninv.solvers.adjacency import node_of_port
from trninv.solvers.shortest_paths import PathMetric, PathsToTarget

MAX_DOMAINS_CACHED = 20_000
"""Domains cached; an entry of a healthy domain takes a few hundred bytes."""
PathResult = tuple[Path, int, Facts]
"""The best path, the number of equally good paths, and the facts that it depends on."""


class PathCache:
    """A cache of the latest revision's domains; thread-safe."""

    def __init__(self, wirings: WiringCache) -> None:
        self._wiring_cache, self._revision_cache = wirings, [RevisionCache(None)]

    def with_wirings(self, wirings: WiringCache) -> "PathCache":
        """Return a view of this cache that reads through another cache of wirings."""
        copied = copy(self)
        copied._wiring_cache = wirings  # noqa: SLF001 # its own
        return copied

    def path(self, source: Address, target: Address, metric: PathMetric) -> PathResult | None:
        """Return the best path, or None if it takes the graph of both domains to find it."""
        if metric is PathMetric.TIME:
            return None
        by_bandwidth = metric is PathMetric.BANDWIDTH

        def find(first: CachedChip, second: CachedChip) -> PathResult | None:
            return (
                first.path(second, by_bandwidth=by_bandwidth)
                if first.domain is second.domain
                else self._path_across(first, second, by_bandwidth=by_bandwidth)
            )

        return self.answer_for_chips((source, target), find)

    def wiring_source(self, *places: Address) -> WiringSource | None:
        """Return the source of the wiring of the chips' domains, or None if it takes the tables to tell."""
        return self.answer_for_chips(
            places,
            lambda *chips: WiringSource.from_observed(
                is_observed=any(chip.domain.is_wiring_observed for chip in chips)
            ),
        )

    def answer_for_chips(self, addresses: Sequence[Address], answer: "Callable[..., A | None]") -> A | None:
        """Return ``answer`` of healthy chips of one cluster; None for other places, or if only the tables can tell."""
        revision = self._wiring_cache.current_revision()
        if revision is None or any(
            address.level != "chip" or address.cluster != addresses[0].cluster for address in addresses
        ):
            return None
        cache = self._revision_cache[0]
        if cache.revision != revision or len(cache.domains) > MAX_DOMAINS_CACHED:
            cache = self._revision_cache[0] = RevisionCache(revision)
        try:
            chips = [self._chip(cache, address) for address in addresses]
            return answer(*chips) if all(chips) else None
        except NotCachedError:
            return None

    def _chip(self, cache: RevisionCache, address: Address) -> "CachedChip | None":
        """Return the chip at an address, or None if it carries nothing."""
        if (domain := self._domain(cache, address)) is None:
            return None
        number = domain.class_entry.chips.get(_address_suffix(address))
        return None if number is None else CachedChip(self, cache, domain, number)

    def _path_across(self, source: "CachedChip", target: "CachedChip", *, by_bandwidth: bool) -> PathResult | None:
        (source_domain, start), (target_domain, end) = (source.domain, source.number), (target.domain, target.number)
        common = next((node for node in source_domain.chain if node in target_domain.chain), None)
        source_top, target_top = source_domain.class_entry.network_node, target_domain.class_entry.network_node
        if common is None or source_top is None or target_top is None:
            return None
        source_height, target_height = source_domain.chain.index(common), target_domain.chain.index(common)
        uplinks = source_domain.uplinks[:source_height] + target_domain.uplinks[:target_height][::-1]
        floor = 0
        if by_bandwidth:
            widths = (
                source_domain.class_entry.widest_to(source_top).get(start, 0),
                target_domain.class_entry.widest_to(target_top).get(end, 0),
            )
            floor = min(*widths, *(link.bandwidth for link in uplinks))
        paths_up, paths_down = (
            source_domain.class_entry.paths_to(source_top, floor),
            target_domain.class_entry.paths_to(end, floor),
        )
        up, down = (tuple(map(node_of_port, path)) for path in (paths_up.path(start), paths_down.path(target_top)))
        if not up or not down:
            return None
        links = [*link_references(source_domain, up), *uplinks, *link_references(target_domain, down)]
        nodes = [
            *((node_kind(source_domain, node), source_domain.address_of(node)) for node in up),
            *(
                ("network_node", node)
                for node in (*source_domain.chain[1 : source_height + 1], *target_domain.chain[:target_height][::-1])
            ),
            *((node_kind(target_domain, node), target_domain.address_of(node)) for node in down[1:]),
        ]
        models = {
            link_model(domain, a, b)
            for domain, segment in ((source_domain, up), (target_domain, down))
            for a, b in pairwise(segment)
        }
        models |= {*source_domain.uplink_models[:source_height], *target_domain.uplink_models[:target_height]}
        count = paths_up.path_counts[start] * paths_down.path_counts[target_top]
        return Path.from_nodes(nodes, links), count, source.facts(models, {source_domain.model, target_domain.model})

    def _domain(self, cache: RevisionCache, address: Address) -> CachedDomain | None:
        key = address.cluster, address.steps[0][1]
        if key not in cache.domains:
            with self._open_reader(cache) as reader:
                cache.domains[key] = read_cached_domain(reader, cache, *key)
        return cache.domains[key]

    def cached_facts(
        self, cache: RevisionCache, key: Hashable, read: Callable[[SnapshotReader], tuple[CitedFact, ...]]
    ) -> Facts:
        """Return the facts cached under a key, or read and cache them."""
        if key not in cache.facts:
            with self._open_reader(cache) as reader:
                cache.facts[key] = read(reader)
        return cache.facts[key]

    @contextmanager
    def _open_reader(self, cache: RevisionCache) -> Iterator[SnapshotReader]:
        """Open a reader of a cache's revision; refuse if the database has changed or nothing may be read."""
        if is_cached_only.get():
            raise NotCachedError
        with self._wiring_cache.open_reader() as reader:
            if reader.revision != cache.revision:
                raise NotCachedError
            yield reader


@dataclass(frozen=True, slots=True)
class CachedChip:
    """A healthy chip, by its local number in its domain's class."""

    _cache: PathCache
    _revision_cache: RevisionCache
    domain: CachedDomain
    number: int

    @property
    def wiring(self) -> Wiring:
        """Scale-up wiring of its domain in local numbers; its addresses lack the domain's part."""
        return self.domain.class_entry.scale_up

    def address_of(self, node: int) -> str:
        """Return the full address of a node of the domain."""
        return self.domain.address_of(node)

    def get_or_search(self, key: Hashable, search: Callable[[], A]) -> A:
        """Return the cached result of a search in the wiring, shared by all domains of the class."""
        return self.domain.class_entry.searches.get_or_search((id(self.domain.class_entry), key), search)

    def facts(self, models: AbstractSet[str], domain_models: AbstractSet[str] = frozenset()) -> Facts:
        """Return the facts about link models, and about the fabric above domain models if any are given."""

        def read(reader: SnapshotReader) -> Facts:
            fabric_facts = (
                evidence.cite_fabric_above(reader, domain_models, is_observed=is_fabric_observed)
                if domain_models
                else ()
            )
            return evidence.cite_links(reader, models) + fabric_facts

        is_fabric_observed = self.domain.is_fabric_observed
        return self._cache.cached_facts(
            self._revision_cache, (frozenset(models), frozenset(domain_models), is_fabric_observed), read
        )

    def memory_facts(self) -> Facts:
        """Return the memory facts of the chip's model."""
        model = self.wiring.nodes[self.number]["model"]
        return self._cache.cached_facts(
            self._revision_cache, model, lambda reader: evidence.cite_memory_models(reader, [model])
        )

    def paths_to(self, other: "CachedChip", *, by_bandwidth: bool) -> PathsToTarget:
        """Return the best paths to another chip of the domain over scale-up links."""
        class_entry = self.domain.class_entry
        floor = class_entry.widest_to(other.number, inner_only=True).get(self.number, 0) if by_bandwidth else 0
        return class_entry.paths_to(other.number, floor, inner_only=True)

    def path(self, other: "CachedChip", *, by_bandwidth: bool) -> PathResult | None:
        """Return the best path to another chip of the domain; None if there is none."""
        paths = self.paths_to(other, by_bandwidth=by_bandwidth)
        if not (nodes := paths.path(self.number)):
            return None
        path = Path.from_nodes(
            [(node_kind(self.domain, node), self.address_of(node)) for node in nodes],
            link_references(self.domain, nodes),
        )
        return (
            path,
            paths.path_counts[self.number],
            self.facts({link_model(self.domain, a, b) for a, b in pairwise(nodes)}),
        )

    def link(self, a: int, b: int) -> LinkRef:
        """Return the link between two nodes of the domain."""
        return link_references(self.domain, (a, b))[0]


def _address_suffix(address: Address) -> str:
    return "".join(f"/{letters}{ordinal}" for letters, ordinal in address.steps[1:])
