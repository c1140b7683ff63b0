"""Place a job of nested groups and explain the result, as `trninv.placement.candidates.results` does for other jobs."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from trninv.placement.candidates.candidate_search import CandidateSearch
from trninv.placement.candidates.free_capacity import FreeCapacity, count_chips
from trninv.placement.candidates.nested_groups import Group, GroupSearch, check_sizes
from trninv.placement.candidates.placement_model import LegalSets
from trninv.placement.candidates.replicas import Constraints
from trninv.placement.candidates.results import (
    PlacedGroup,
    Placement,
    SearchResult,
    limit_steps,
    scope_steps,
    search_steps,
    size_steps,
)
from trninv.units import Bandwidth, pluralize


def place_groups(
    capacity: FreeCapacity,
    legal_sets: LegalSets,
    chips: int,
    sizes: Sequence[int],
    constraints: Constraints,
    tier: int,
) -> SearchResult:
    """Place a job of so many chips in groups of these sizes, the largest first.

    Raises
    ------
    InvalidArgumentError, IllegalSizeError
        The sizes do not divide each other, or no scheduler grants the smallest.

    """
    check_sizes(capacity.model, legal_sets, chips, sizes)
    innermost, count = sizes[-1], chips // sizes[0]
    search = CandidateSearch(
        capacity,
        legal_sets,
        legal_sets.any_of.get(innermost) or legal_sets.sets[innermost],
        min_limits=constraints.min_limits,
        healthy_only=constraints.healthy_only,
    )
    domains = search.count_domains(search.matches)
    steps = (
        *scope_steps(capacity, innermost, constraints),
        *size_steps(capacity, innermost),
        *search_steps(search, constraints),
        *limit_steps(constraints.min_limits, domains),
    )
    group_search = GroupSearch(capacity, search, sizes)
    fitting = len(group_search.groups())
    chosen = group_search.place(count, tier)
    if chosen is None:
        below = f" below one network node of tier {tier}" if tier > 1 else ""
        text = f"{pluralize(count, 'group')} of {group_search.describe()} requested{below}, {fitting:,} fit in all"
        return SearchResult((), fitting, domains, steps, text)
    return SearchResult((_placement(capacity, chosen, group_search),), fitting, domains, steps)


def _placement(capacity: FreeCapacity, groups: Sequence[Group], search: GroupSearch) -> Placement:
    sets = [chips for group in groups for chips in group.sets()]
    masks = _merge(sets)
    limits = [capacity.actual_limits(row, mask) for row, mask in sets]
    servers = tuple(server for row, mask in masks.items() for server in capacity.server_addresses(row, mask))
    used = sum(mask.bit_count() for mask in masks.values())
    free = count_chips(capacity.free[sorted(masks)])
    return Placement(
        places=_addresses(capacity, sets),
        spares=(),
        servers=servers,
        chips=used,
        whole_servers=used == len(servers) * capacity.model.chips_per_server,
        shape=None,
        all_gather=Bandwidth(min(limit.all_gather for limit in limits)),
        bisection=Bandwidth(min(limit.bisection for limit in limits)),
        degraded=any(capacity.is_degraded(row, mask) for row, mask in sets),
        tier=search.common_tier(groups) if len(masks) > 1 else None,
        fragmentation_cost=0.0,
        remaining_free=free - used,
        groups=tuple(_placed_groups(capacity, groups, 1)),
    )


def _placed_groups(capacity: FreeCapacity, groups: Iterable[Group], level: int) -> Iterator[PlacedGroup]:
    """Yield each group, followed by its parts."""
    for group in groups:
        sets = group.sets()
        yield PlacedGroup(level, sum(mask.bit_count() for _, mask in sets), _addresses(capacity, sets))
        yield from _placed_groups(capacity, group.parts, level + 1)


def _merge(sets: Iterable[tuple[int, int]]) -> dict[int, int]:
    """Return the union of the sets of each row."""
    masks = Counter[int]()  # the sets do not overlap
    for row, mask in sets:
        masks[row] += mask
    return masks


def _addresses(capacity: FreeCapacity, sets: Iterable[tuple[int, int]]) -> tuple[str, ...]:
    return tuple(place for row, mask in _merge(sets).items() for place in capacity.addresses_of(row, mask))
