"""Which models of domain an EC2 instance type is a server of: the one rule that everything which reads types calls."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache

from trninv.catalog.models import DomainModel, default_systems

UNCLAIMED_REASON = "no model in the catalog has this type, so it is never bound and never adopted"
"""Why an instance of a type that no model claims is left alone."""


@dataclass(frozen=True, slots=True)
class UnclaimedType:
    """An instance type that no model claims, and how many instances were seen of it."""

    type: str
    count: int
    why: str = UNCLAIMED_REASON


@lru_cache(maxsize=4_096)
def models_of(instance_type: str, chips: int | None = None) -> frozenset[str]:
    """Return the slugs of the models of domain whose servers are of an EC2 instance type; none of most types.

    Parameters
    ----------
    instance_type
        As EC2 has it, or as SageMaker does (``ml.trn1.32xlarge``).
    chips
        How many chips the instance shows: tells apart models that claim the same type, the smallest that holds so many.

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


def count_unclaimed_types(types: Iterable[str]) -> tuple[UnclaimedType, ...]:
    """Return the types that no model claims with how often they occur, in the order of names."""
    counts = Counter(types)
    return tuple(UnclaimedType(name, counts[name]) for name in sorted(counts) if not models_of(name))


def chips_of(instance_type: str) -> int | None:
    """Return how many chips an instance of a type has; None where no model claims it, or models disagree."""
    counts = {default_systems().domains[slug].chips_per_server for slug in models_of(instance_type)}
    return counts.pop() if len(counts) == 1 else None


@lru_cache(maxsize=4_096)
def chips_by_address(instance_type: str) -> Mapping[str, int]:
    """Return the chip at each PCI address of an instance of a type; empty where no document says."""
    addresses = {default_systems().domains[slug].server.chip_addresses for slug in models_of(instance_type)}
    return {address: chip for chip, address in enumerate(addresses.pop())} if len(addresses) == 1 else {}


def type_names(model: DomainModel) -> tuple[str, ...]:
    """Return the documented types of a model's servers: a pattern is an assumption, and no name."""
    return tuple(name for name in model.ec2_types if not set(name) & set("*?["))
