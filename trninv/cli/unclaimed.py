"""What import, bind, adopt and drift say of machines whose type no model in the catalog claims."""

from collections import Counter
from collections.abc import Iterable

from trninv.catalog.instance_types import UnclaimedType
from trninv.cli.prose import say
from trninv.units import counted


def say_unclaimed(types: Iterable[UnclaimedType]) -> None:
    """Print each type with its count and the reason; one that several lists have is added up."""
    counts, why = Counter[str](), dict[str, str]()
    for each in types:
        counts[each.type] += each.count
        why[each.type] = each.why
    for name, count in sorted(counts.items()):
        say(f"{counted(count, 'machine')} of type {name}: {why[name]}")
