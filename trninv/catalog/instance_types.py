"""Map EC2 instance types to domain models, for importers, exporters and the matching of instances to slots."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Annotated

from trninv.catalog.models import DomainModel, default_systems
from trninv.units import pluralize

UNCLAIMED_REASON = "no model in the catalog has this type, so it is never bound or adopted"
"""Why instances of an unclaimed type are ignored."""


@dataclass(frozen=True, slots=True)
class UnclaimedType:
    """An EC2 instance type that no model in the catalog claims."""

    type: Annotated[str, "The instance type as reported."]
    count: Annotated[int, "Number of machines of this type."]
    why: Annotated[str, "Why they are ignored."] = UNCLAIMED_REASON


@lru_cache(maxsize=4_096)
def models_of(instance_type: str, chips: int | None = None) -> frozenset[str]:
    """Return the slugs of the domain models whose servers have an EC2 instance type; empty for most types.

    Parameters
    ----------
    instance_type
        The type as EC2 or SageMaker (``ml.trn1.32xlarge``) writes it.
    chips
        The number of chips that the instance reports. If several models have the type, only those are returned that
        have the smallest sufficient number of chips per server.
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
    """Count the types that no model claims, ordered by name."""
    counts = Counter(types)
    return tuple(UnclaimedType(name, counts[name]) for name in sorted(counts) if not models_of(name))


def render_unclaimed(types: Iterable[UnclaimedType]) -> Iterator[str]:
    """Yield a line for each unclaimed type, with its number of machines and the reason."""
    counts, reasons = Counter[str](), dict[str, str]()
    for unclaimed in types:
        counts[unclaimed.type] += unclaimed.count
        reasons[unclaimed.type] = unclaimed.why
    for name, count in sorted(counts.items()):
        yield f"{pluralize(count, 'machine')} of type {name}: {reasons[name]}"


def chips_of(instance_type: str) -> int | None:
    """Return the number of chips of an instance type; None if no model claims it, or if its models differ."""
    counts = {default_systems().domains[slug].chips_per_server for slug in models_of(instance_type)}
    return counts.pop() if len(counts) == 1 else None


@lru_cache(maxsize=4_096)
def chips_by_address(instance_type: str) -> Mapping[str, int]:
    """Return the ordinal of the chip at each PCI address; empty if undocumented, or if the type's models differ."""
    addresses = {default_systems().domains[slug].server.chip_addresses for slug in models_of(instance_type)}
    return {address: chip for chip, address in enumerate(addresses.pop())} if len(addresses) == 1 else {}


def type_names(model: DomainModel) -> tuple[str, ...]:
    """Return the documented instance types of a model, without patterns such as ``trn2*``, which are assumptions."""
    return tuple(name for name in model.ec2_types if not set(name) & set("*?["))
