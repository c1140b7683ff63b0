"""Count transitions of all parts of a cluster in columns of numbers, on PostgreSQL.

To join and group a million events takes PostgreSQL longer than to hand them over as arrays. The group of each part is
looked up in an array here, since the ids of a cluster's parts are consecutive.

An event takes 24 bytes in `EventColumns`, and up to 130 bytes while it is read or counted; each id of a part takes 8 in
`PartGroups`. `trninv.history.availability` reads events in slices, so that a long history takes no more memory.
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


@dataclass(frozen=True, slots=True)
class PartGroups:
    """The parts of a cluster by key.

    Attributes
    ----------
    numbers
        Number of parts by key.
    first
        The smallest id of the parts.
    positions
        The position of each part's key in ``numbers``, by id from ``first`` on; -1: no such part.
    """

    numbers: dict[int, int]
    first: int
    positions: "Integers"

    @classmethod
    def read(cls, connection: Connection, query: SelectBase) -> "PartGroups":
        """Read the parts; the query selects the id and the key of each."""
        import numpy as np  # noqa: PLC0415 # slow to import

        ids, part_keys = read_integers(connection, query)
        if not len(ids):
            return cls({}, 0, ids)
        keys, key_positions = _distinct(part_keys)
        positions = np.full(ids.max() - ids.min() + 1, -1)
        positions[ids - ids.min()] = key_positions
        numbers = dict(zip(keys, np.bincount(key_positions).tolist(), strict=True))
        return cls(numbers, int(ids.min()), positions)

    def positions_of(self, part_ids: "Integers") -> "Integers":
        """Return the position of each part's key in ``numbers``; -1: no such part."""
        import numpy as np  # noqa: PLC0415 # slow to import

        indexes = part_ids - self.first
        is_part = (indexes >= 0) & (indexes < len(self.positions))
        positions = np.full(len(part_ids), -1)
        positions[is_part] = self.positions[indexes[is_part]]
        return positions


def _distinct(values: "Integers") -> "tuple[list[int], Integers]":
    """Return the distinct values, and the position of each value among them; without sorting, as they span little."""
    import numpy as np  # noqa: PLC0415 # slow to import

    first = values.min()
    distinct = np.flatnonzero(np.bincount(values - first))
    positions = np.zeros(distinct[-1] + 1, np.int64)
    positions[distinct] = np.arange(len(distinct))
    return (distinct + first).tolist(), positions[values - first]
