"""What import, bind, adopt and drift say of machines whose type no model in the catalog claims."""

from collections import Counter
from collections.abc import Iterable

from trninv.catalog.instance_types import UnclaimedType
from trninv.cli.prose import print_wrapped
from trninv.units import pluralize


def print_unclaimed(types: Iterable[UnclaimedType]) -> None:
    """Print each type with its count and the reason; one that several lists have is added up."""
    counts, reasons = Counter[str](), dict[str, str]()
    for unclaimed in types:
        counts[unclaimed.type] += unclaimed.count
        reasons[unclaimed.type] = unclaimed.why
    for name, count in sorted(counts.items()):
        print_wrapped(f"{pluralize(count, 'machine')} of type {name}: {reasons[name]}")
