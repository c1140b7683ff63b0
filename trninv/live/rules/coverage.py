"""What can't be compared, since no source reports it."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Final

from trninv.live.design import Occupancy
from trninv.live.newest import Sighting
from trninv.live.picture import Picture
from trninv.live.rules.register import SERVER, Difference, Differences

_RULES: Final[Mapping[str, str]] = {
    "memory_bytes": "memory-wrong",
    "cores": "cores-wrong",
    "neighbours": "neighbour-wrong",
    "ecc_uncorrected": "ecc-uncorrected",
}
"""Fields of chips of every type, and the rules that compare them."""
COMPARED_FIELDS: Final = tuple(_RULES)


@SERVER("field-missing", "fields of chips that a source should report with those that any source reports of each chip")
def field_missing(slot: Occupancy, _: Picture) -> Differences:
    """Sources that never report a field are not missed."""
    missing, by_field = _unreported(slot), defaultdict[str, list[Sighting]](list)
    for seen in slot.machine.seen if slot.machine else ():
        for name in missing & set((seen.missing_fields or "").split()):
            by_field[name].append(seen)
    for name, sightings in sorted(by_field.items()):
        sources = " and ".join(sorted({each.source for each in sightings}))
        evidence = tuple(sorted({each.observation for each in sightings}))
        yield Difference(slot.address, slot.instance, f"{name} by {sources}", "not reported", evidence)


def count_not_compared(slots: Iterable[Occupancy]) -> dict[str, int]:
    """Return of how many slots where an instance stands each rule had nothing to compare."""
    counts = Counter(_RULES[name] for slot in slots if slot.bound is not None for name in _unreported(slot))
    return dict(sorted(counts.items()))


def _unreported(slot: Occupancy) -> set[str]:
    """Return the fields that no source reports of as many chips as any source shows, up to those of the model."""
    shown = max((view.seen.bit_count() for view in slot.views.values()), default=0)
    whole = (view for view in slot.views.values() if view.seen.bit_count() >= min(shown, slot.model.chips))
    reported = set[str]().union(*(view.fields for view in whole))
    return {name for name in _RULES if name not in reported and (name != "neighbours" or slot.model.neighbours)}
