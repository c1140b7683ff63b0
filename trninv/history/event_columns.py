"""Count transitions of all parts of a cluster in columns of numbers, on PostgreSQL.

To join and group a million events takes PostgreSQL longer than to hand them over as arrays. The group of each part is
looked up in an array here, since the ids of a cluster's parts are consecutive.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from sqlalchemy import Connection, SelectBase

from trninv.database.bulk_read import read_integers

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]

_MICROS_PER_SECOND: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class EventColumns:
    """Events as columns.

    Attributes
    ----------
    part_ids, micros, codes
        The part of each event, its time in microseconds since 1970, and a number for the transition, whose last bit is
        1 unless the event is after the period.
    """

    part_ids: "Integers"
    micros: "Integers"
    codes: "Integers"

    def count(self, groups: "Integers", keys: Sequence[int]) -> Iterator[tuple[int, int, int, int, int, int]]:
        """Yield the key and the number of each transition of a group, and the number and times of those in the period.

        Parameters
        ----------
        groups
            The position of each event's key in `keys`; -1: the event is not counted.
        """
        import numpy as np  # noqa: PLC0415 # slow to import

        counted = groups >= 0
        groups, micros, codes = groups[counted], self.micros[counted], self.codes[counted]
        if not len(groups):
            return
        states, transitions = _distinct(codes >> 1)
        cells = groups * len(states) + transitions
        seconds, rest = np.divmod(micros, _MICROS_PER_SECOND)
        numbers = np.bincount(cells)
        sums = np.zeros((3, len(numbers)), np.int64)
        for total, values in zip(sums, (codes & 1, seconds * (codes & 1), rest * (codes & 1)), strict=True):
            np.add.at(total, cells, values)  # exact, where the weights of bincount are floats
        used = np.flatnonzero(numbers)
        for cell, number, *within in zip(used.tolist(), numbers[used].tolist(), *sums[:, used].tolist(), strict=True):
            group, transition = divmod(cell, len(states))
            yield keys[group], states[transition], number, *within


def read_events(connection: Connection, query: SelectBase) -> EventColumns:
    """Read events; the query selects the columns of `EventColumns`."""
    return EventColumns(*read_integers(connection, query))


def group_parts(connection: Connection, query: SelectBase, events: EventColumns) -> "tuple[dict[int, int], Integers]":
    """Return the number of parts by key, and the position of each event's key among these keys; -1: no such part.

    Parameters
    ----------
    query
        Selects the id and the key of each part.
    """
    import numpy as np  # noqa: PLC0415 # slow to import

    ids, part_keys = read_integers(connection, query)
    if not len(ids):
        return {}, np.full(len(events.part_ids), -1)
    keys, positions = _distinct(part_keys)
    first, last = ids.min(), ids.max()
    by_id = np.full(last - first + 1, -1)
    by_id[ids - first] = positions
    in_range = (events.part_ids >= first) & (events.part_ids <= last)
    groups = np.where(in_range, by_id[np.where(in_range, events.part_ids - first, 0)], -1)
    return dict(zip(keys, np.bincount(positions).tolist(), strict=True)), groups


def _distinct(values: "Integers") -> "tuple[list[int], Integers]":
    """Return the distinct values, and the position of each value among them; without sorting, as they span little."""
    import numpy as np  # noqa: PLC0415 # slow to import

    first = values.min()
    distinct = np.flatnonzero(np.bincount(values - first))
    positions = np.zeros(distinct[-1] + 1, np.int64)
    positions[distinct] = np.arange(len(distinct))
    return (distinct + first).tolist(), positions[values - first]
