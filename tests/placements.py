"""Stocks of any free chips, and where a set of them fits, found by looking at every position."""

from collections.abc import Callable
from functools import partial
from itertools import combinations, product

import numpy as np

from trninv.placement.candidates.free_capacity import ConsecutiveDomains, FreeCapacity, ModelDomains
from trninv.placement.candidates.link_failures import UnhealthyParts
from trninv.placement.candidates.placement_model import LegalSets, PlacementModel, read_legal_sets
from trninv.routing.fleet import BaseFleet
from trninv.solvers.torus_blocks import pack_masks


def legal(fleet: BaseFleet, model: PlacementModel) -> LegalSets:
    with fleet.connect() as connection:
        return read_legal_sets(connection, model)


def group_of_domains(model: PlacementModel, domains: int) -> ModelDomains:
    """All domains of a cluster that no database has."""
    return ModelDomains(1, "fleet", model.slug, (ConsecutiveDomains(0, domains, 0, 1, 1),), True)


def stock_of(model: PlacementModel, free: list[int], damage: UnhealthyParts | None = None) -> FreeCapacity:
    """Domains of which only these chips are not held."""
    inside = pack_masks([model.full] * len(free), model.chips)
    held = inside & ~pack_masks(free, model.chips)
    ordinals = np.arange(len(free))
    return FreeCapacity(
        group_of_domains(model, len(free)), model, ordinals, inside, inside, held, np.zeros_like(inside), damage or {}
    )


def sets_of(found: LegalSets, model: PlacementModel, size: int) -> list[int]:
    """All sets of a size, those of any servers written out."""
    if size not in found.any_of:
        return list(found.sets[size])
    chosen = (each for rack in model.racks for each in combinations(rack, found.any_of[size].servers))
    return [sum(model.server_masks[server] for server in servers) for servers in chosen]


def is_whole(model: PlacementModel, mask: int, broken: set[tuple[int, int]]) -> bool:
    wires = ((wire.a, wire.b) for wire in model.domain_model.blueprint.scale_up_links)
    inside = ((a, b) for a, b in wires if all(end >= model.chips or mask >> end & 1 for end in (a, b)))
    return not broken & set(inside)


def harm_of(found: LegalSets, free: int, mask: int, is_intact: Callable[[int], bool] = lambda _: True) -> float:
    sets = ((size, each) for size, sets in found.sets.items() if size > 1 for each in sets)
    lost = (size for size, each in sets if free & each == each and each & mask and is_intact(each))
    return sum(lost) / max(len(found.sets) - 1, 1)


def by_hand(stock: FreeCapacity, found: LegalSets, sets: list[int], free: list[int]) -> list[tuple[int, int]]:
    """Row and set of every place, the best first."""
    model = stock.model
    broken = {
        row: {key for key, left in parts.items() if not left and isinstance(key, tuple)}
        for row, parts in stock.unhealthy_parts.items()
    }

    def is_intact(row: int, mask: int) -> bool:
        return is_whole(model, mask, broken.get(row, set()))

    places = [
        (row, mask)
        for row, mask in product(range(len(free)), sets)
        if free[row] & mask == mask and is_intact(row, mask)
    ]
    worth = {mask: model.limits(mask) for mask in {mask for _, mask in places}}

    def rank(place: tuple[int, int]) -> tuple[float, ...]:
        row, mask = place
        limits = worth[mask]
        return (
            -limits.all_gather,
            -limits.bisection,
            round(harm_of(found, free[row], mask, partial(is_intact, row)), 6),
            free[row].bit_count(),
            len(stock.unhealthy_parts.get(row, ())),
            row,
            sets.index(mask),
        )

    return sorted(places, key=rank)
