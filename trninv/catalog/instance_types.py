"""Map EC2 instance types to models of domains; all code that reads instance types uses this rule."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache

from trninv.catalog.models import DomainModel, default_systems

UNCLAIMED_REASON = "no model in the catalog has this type, so it is never bound or adopted"
"""Why instances of an unclaimed type are ignored."""


@dataclass(frozen=True, slots=True)
class UnclaimedInstances:
    """An instance type that no model claims, with the number of its observed instances."""

    type: str
    count: int
    why: str = UNCLAIMED_REASON


@lru_cache(maxsize=4_096)
def models_of(instance_type: str, chips: int | None = None) -> frozenset[str]:
    """Return the slugs of the domain models whose servers have an EC2 instance type; empty for most types.

    Parameters
    ----------
    instance_type
        The type as EC2 or SageMaker (``ml.trn1.32xlarge``) writes it.
    chips
        The number of chips that the instance shows. It selects among models of the same type: the smallest with enough.
    """
    name = instance_type.removeprefix("ml.")
    claiming = {
        slug: model
        for slug, model in default_systems().domains.items()
        if any(fnmatchcase(name, pattern) for pattern in model.ec2_types)
    }
    if chips is not None and len(claiming) > 1:
        sizes = {slug: size for slug, model in claiming.items() if (size := model.chips_per_server) >= chips}
        return frozenset(slug for slug, size in sizes.items() if size == min(sizes.values()))
    return frozenset(claiming)


def count_unclaimed_types(types: Iterable[str]) -> tuple[UnclaimedInstances, ...]:
    """Count the types that no model claims, ordered by name."""
    counts = Counter(types)
    return tuple(UnclaimedInstances(name, counts[name]) for name in sorted(counts) if not models_of(name))


def chips_of(instance_type: str) -> int | None:
    """Return the number of chips of an instance type; None if no model claims it, or models disagree."""
    counts = {default_systems().domains[slug].chips_per_server for slug in models_of(instance_type)}
    return counts.pop() if len(counts) == 1 else None


@lru_cache(maxsize=4_096)
def chips_by_address(instance_type: str) -> Mapping[str, int]:
    """Return the chip at each PCI address of an instance type; empty if no document states them."""
    addresses = {default_systems().domains[slug].server.chip_addresses for slug in models_of(instance_type)}
    return {address: chip for chip, address in enumerate(addresses.pop())} if len(addresses) == 1 else {}


def type_names(model: DomainModel) -> tuple[str, ...]:
    """Return the documented instance types of a model; patterns are assumptions and are omitted."""
    return tuple(name for name in model.ec2_types if not set(name) & set("*?["))
