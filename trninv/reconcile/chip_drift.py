"""Apply the drift rules for chips to all observed chips; called by `drift.evaluate_rules`.

A server here is a row of ``observed_server``: what one source reports of a machine. A chip's number is its ordinal in
its server. Chips with the same number are mostly alike on all servers. So the database selects the distinct chips of
many servers, and only chips with numbers that have findings, error counts or taints are read one by one.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import compress, product
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, Row, Select, bindparam, func, select

from trninv.database.bulk_read import batches
from trninv.database.tables import TABLES
from trninv.reconcile.drift_input import DriftInput
from trninv.reconcile.latest_observations import ObservedValue
from trninv.reconcile.occupied_slots import ChipView, OccupiedSlot, SlotModel
from trninv.reconcile.rules import CHIP_RULES, COMPARED_FIELDS, ComparedChip, FindingDraft

CountedErrors = dict[tuple[str, str, int], tuple[OccupiedSlot, ObservedValue]]
"""Chips with a non-zero error counter: machine name, source and chip number, mapped to the machine's slot and the
source's list of the machine's chips."""
_CHIP = TABLES["observed_chip"]
_SERVER, _ORDINAL = _CHIP.c.observed_server_id, _CHIP.c.ordinal
_BATCH_SIZE: Final = 500
"""Servers per batch; if one of them has a finding about a chip, the chips of that number are read of all of them."""
_FIELD_SETS: Final[Mapping[tuple[bool, ...], frozenset[str]]] = {
    flags: frozenset(compress(COMPARED_FIELDS, flags)) for flags in product((False, True), repeat=len(COMPARED_FIELDS))
}
"""Every set of reported fields, by one flag per field of `COMPARED_FIELDS`; servers share them to save memory."""
_CHIP_COLUMNS: Final = ComparedChip._fields[:-2]
"""The fields of `ComparedChip` that are columns; ``is_partial`` and ``type`` are the same for all chips of a server."""


class _ComparisonKey(NamedTuple):
    """What findings about a chip depend on besides the chip; servers with equal keys are compared together."""

    model: SlotModel
    is_partial: bool
    type: str


def check_chips(
    connection: Connection, drift_input: DriftInput, counted_errors: CountedErrors
) -> Iterator[tuple[str, FindingDraft]]:
    """Yield the draft of each finding about a chip, with the name of its rule.

    As side effects, fill in each slot's ``chip_views`` and ``chip_taints``, and add chips to ``counted_errors``.
    """
    listings = {
        listing.value.observed_server: (slot, listing)
        for slot in drift_input.slots
        for listing in drift_input.best_values(slot.machine, "chips").values()
    }
    servers_by_key = defaultdict[_ComparisonKey, list[int]](list)
    for key, (slot, listing) in sorted(listings.items()):
        observed_type = drift_input.agreed_value(slot.machine, "instance_type")
        instance_type = observed_type.value if observed_type else ""
        servers_by_key[_ComparisonKey(slot.model, listing.value.is_partial, instance_type)].append(key)
    for comparison, servers in (
        (key, batch) for key, ids in servers_by_key.items() for batch in batches(ids, _BATCH_SIZE)
    ):
        for key, bits, fields in _present_chips(connection, servers):
            slot, listing = listings[key]
            slot.chip_views[listing.source] = ChipView(bits, listing.value.is_partial, listing, fields)
        for row in _chips_with_findings(connection, servers, comparison):
            slot, listing = listings[row.server]
            if row.has_counted and slot.machine:
                counted_errors[slot.machine.name, listing.source, row.ordinal] = slot, listing
            if row.taints and row.ordinal < comparison.model.chips:
                slot.chip_taints[row.ordinal] = row.taints, listing
            for rule, expected, observed in _compare_chip(row, comparison):
                address = f"{slot.address}/c{row.ordinal}"
                yield rule, FindingDraft(address, slot.instance, expected, observed, (listing.observation,))


def _present_chips(connection: Connection, servers: list[int]) -> Iterator[tuple[int, int, frozenset[str]]]:
    """Yield each server with the numbers of its chips as bits, and the fields that are reported for all its chips."""
    counts = (func.count(_CHIP.c[name]) for name in COMPARED_FIELDS)
    query = select(_SERVER, func.count(), func.max(_ORDINAL), *counts).where(_SERVER.in_(servers)).group_by(_SERVER)
    with_gaps = dict[int, frozenset[str]]()
    for key, count, last, *reported in connection.execute(query):
        fields = _FIELD_SETS[tuple(reported_count == count for reported_count in reported)]
        if count == last + 1:
            yield key, (1 << count) - 1, fields
        else:
            with_gaps[key] = fields
    numbers = defaultdict[int, int](int)
    for key, ordinal in connection.execute(select(_SERVER, _ORDINAL).where(_SERVER.in_(list(with_gaps)))):
        numbers[key] |= 1 << ordinal
    yield from ((key, bits, with_gaps[key]) for key, bits in numbers.items())


def _chips_query(*columns: Any) -> Select[Any]:
    """Select ``columns`` and what chip rules compare, for the chips of the servers in the parameter ``servers``."""
    has_counted = (func.coalesce(_CHIP.c.ecc_uncorrected, 0) != 0).label("has_counted")
    chip_columns = (_CHIP.c[name] for name in _CHIP_COLUMNS)
    return select(*columns, has_counted, _CHIP.c.taints, *chip_columns).where(
        _SERVER.in_(bindparam("servers", expanding=True))
    )


_DISTINCT_CHIPS: Final = _chips_query().distinct()
_CHIPS_BY_ORDINAL: Final = (
    _chips_query(_SERVER.label("server"))
    .where(_ORDINAL.in_(bindparam("ordinals", expanding=True)))
    .order_by(_SERVER, _ORDINAL)
)


def _chips_with_findings(connection: Connection, servers: list[int], comparison: _ComparisonKey) -> Iterable[Row[Any]]:
    """Return the chips whose number has a finding, counted errors or a taint on at least one of the servers."""
    variants = connection.execute(_DISTINCT_CHIPS, {"servers": servers})
    ordinals = sorted(
        {
            variant.ordinal
            for variant in variants
            if variant.has_counted or variant.taints or _compare_chip(variant, comparison)
        }
    )
    return connection.execute(_CHIPS_BY_ORDINAL, {"servers": servers, "ordinals": ordinals}) if ordinals else ()


def _compare_chip(row: Row[Any], comparison: _ComparisonKey) -> tuple[tuple[str, str, str], ...]:
    """Return the rule, the expected and the observed text of each finding about a chip."""
    # chips beyond the model's number are findings of the rule chip-extra instead
    chip = ComparedChip._make((*(getattr(row, name) for name in _CHIP_COLUMNS), comparison.is_partial, comparison.type))
    return _check_chip(chip, comparison.model) if chip.ordinal < comparison.model.chips else ()


@lru_cache(maxsize=10_000)  # most chips equal those with the same number on other servers
def _check_chip(chip: ComparedChip, model: SlotModel) -> tuple[tuple[str, str, str], ...]:
    drafts = ((rule, check(chip, model)) for rule, check in CHIP_RULES.rules.items())
    return tuple((rule, *draft) for rule, draft in drafts if draft)
