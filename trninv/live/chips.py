"""The chips that machines show: which are there, which differ from their model, and which have counted errors.

Most chips of a number are alike, so databases are asked for what differs among many servers, and only chips of a number
of which something is to be told are read one by one.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import compress, product
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, Row, Select, bindparam, func, select

from trninv.inventory.schema import TABLES
from trninv.live.design import Model, Occupancy, View
from trninv.live.newest import Said
from trninv.live.picture import Picture
from trninv.live.rules import CHIP, COMPARED_FIELDS, Difference, Shown

Counted = dict[tuple[str, str, int], tuple[Occupancy, Said]]
"""Chips whose counter of errors is not 0, by machine, source and number."""
_CHIP = TABLES["observed_chip"]
_SERVER, _ORDINAL = _CHIP.c.observed_server_id, _CHIP.c.ordinal
_AT_ONCE: Final = 500
_FIELDS: Final[Mapping[tuple[bool, ...], frozenset[str]]] = {
    flags: frozenset(compress(COMPARED_FIELDS, flags)) for flags in product((False, True), repeat=len(COMPARED_FIELDS))
}
"""Sets of fields by whether each of them is there: servers share these few."""


class _Alike(NamedTuple):
    """What else than itself decides what is told of a chip."""

    model: Model
    is_partial: bool
    type: str


def chips(connection: Connection, seen: Picture, counted: Counted) -> Iterator[tuple[str, Difference]]:
    """What rules of chips find; note which are there in each slot's views, taints, and the counters that are not 0."""
    shown = {
        said.value.observed_server: (slot, said)
        for slot in seen.slots
        for said in seen.current(slot.machine, "chips").values()
    }
    alike = defaultdict[_Alike, list[int]](list)
    for key, (slot, said) in sorted(shown.items()):
        kind = (slot.machine and slot.machine.value("instance_type")) or ""
        alike[_Alike(slot.model, said.value.is_partial, kind)].append(key)
    for of, servers in _batches(alike):
        for key, bits, fields in _present(connection, servers):
            slot, said = shown[key]
            slot.views[said.source] = View(bits, said.value.is_partial, said, fields)
        for row in _telling(connection, servers, of):
            slot, said = shown[row.server]
            if row.has_counted and slot.machine:
                counted[slot.machine.name, said.source, row.ordinal] = slot, said
            if row.taints and row.ordinal < of.model.chips:
                slot.taints[row.ordinal] = row.taints, said
            for rule, expected, found in _told(row, of):
                address = f"{slot.address}/c{row.ordinal}"
                yield rule, Difference(address, slot.instance, expected, found, (said.observation,))


def _batches(alike: Mapping[_Alike, list[int]]) -> Iterator[tuple[_Alike, list[int]]]:
    for of, servers in alike.items():
        for first in range(0, len(servers), _AT_ONCE):
            yield of, servers[first : first + _AT_ONCE]


def _present(connection: Connection, servers: list[int]) -> Iterator[tuple[int, int, frozenset[str]]]:
    """The numbers of each server's chips, as bits, and the fields that all of these chips have."""
    counts = (func.count(_CHIP.c[name]) for name in COMPARED_FIELDS)
    query = select(_SERVER, func.count(), func.max(_ORDINAL), *counts).where(_SERVER.in_(servers)).group_by(_SERVER)
    with_gaps = dict[int, frozenset[str]]()
    for key, count, last, *reported in connection.execute(query):
        fields = _FIELDS[tuple(each == count for each in reported)]
        if count == last + 1:
            yield key, (1 << count) - 1, fields
        else:
            with_gaps[key] = fields
    numbers = defaultdict[int, int](int)
    for key, ordinal in connection.execute(select(_SERVER, _ORDINAL).where(_SERVER.in_(list(with_gaps)))):
        numbers[key] |= 1 << ordinal
    yield from ((key, bits, with_gaps[key]) for key, bits in numbers.items())


def _query(*columns: Any) -> Select[Any]:
    has_counted = (func.coalesce(_CHIP.c.ecc_uncorrected, 0) != 0).label("has_counted")
    said = (_CHIP.c[name] for name in Shown._fields[:7])
    return select(*columns, has_counted, _CHIP.c.taints, *said).where(_SERVER.in_(bindparam("servers", expanding=True)))


_KINDS: Final = _query().distinct()
_EACH: Final = (
    _query(_SERVER.label("server"))
    .where(_ORDINAL.in_(bindparam("ordinals", expanding=True)))
    .order_by(_SERVER, _ORDINAL)
)


def _telling(connection: Connection, servers: list[int], of: _Alike) -> Iterable[Row[Any]]:
    """Chips of those numbers of which something is to be told."""
    kinds = connection.execute(_KINDS, {"servers": servers})
    ordinals = sorted({kind.ordinal for kind in kinds if kind.has_counted or kind.taints or _told(kind, of)})
    return connection.execute(_EACH, {"servers": servers, "ordinals": ordinals}) if ordinals else ()


def _told(row: Row[Any], of: _Alike) -> tuple[tuple[str, str, str], ...]:
    chip = Shown._make((*(getattr(row, name) for name in Shown._fields[:7]), of.is_partial, of.type))
    return _of_chip(chip, of.model) if chip.ordinal < of.model.chips else ()


@lru_cache(maxsize=10_000)  # most are like the one of their number on other servers
def _of_chip(chip: Shown, model: Model) -> tuple[tuple[str, str, str], ...]:
    asked = ((rule, of(chip, model)) for rule, of in CHIP.rules.items())
    return tuple((rule, *difference) for rule, difference in asked if difference)
