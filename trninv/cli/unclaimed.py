"""Report machines whose type no model in the catalog claims, for import, bind, adopt and drift."""

from collections import Counter
from collections.abc import Iterable

from trninv.catalog.instance_types import UnclaimedType
from trninv.cli.prose import print_wrapped
from trninv.units import pluralize


def print_unclaimed(types: Iterable[UnclaimedType]) -> None:
    """Print each type with its reason and its count, summed over repeated entries."""
    counts, reasons = Counter[str](), dict[str, str]()
    for unclaimed in types:
        counts[unclaimed.type] += unclaimed.count
        reasons[unclaimed.type] = unclaimed.why
    for name, count in sorted(counts.items()):
        print_wrapped(f"{pluralize(count, 'machine')} of type {name}: {reasons[name]}")
