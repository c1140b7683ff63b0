"""Read the links of a projection as columns, of which a large fleet has millions."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sqlalchemy import Connection, select

from trninv.database.bulk_read import read_query_batches
from trninv.database.tables import TABLES
from trninv.graph_projection.arrow_tables import property_arrays, property_names
from trninv.graph_projection.changing_state import ChangingState, factor_of
from trninv.graph_projection.schema import LABELS, SCALE_UP, relationship_of
from trninv.graph_projection.structure import GIGA, Columns, NodeColumns

_BATCH_SIZE: Final = 100_000
_LABEL_NAMES: Final = [label.name for label in LABELS]
_NAMES: Final = ("id", "a_id", "b_id", "technology", "scope", "lanes", "cables", "bandwidth_bytes_per_s")


def read_links(connection: Connection, state: ChangingState, nodes: Sequence[NodeColumns]) -> Iterator[Columns]:
    """Yield the links between these nodes, for each relationship and pair of labels."""
    lookup, affected = _NodeLookup(nodes), _AffectedLinks(state)
    batches: dict[tuple[str, str], list[Any]] = defaultdict(list)
    link = TABLES["link"]
    query = select(*(link.c[name] for name in _NAMES)).order_by(link.c.id)
    for rows in read_query_batches(connection, query, _BATCH_SIZE):
        ids, a, b, *values = zip(*rows, strict=True)
        starts, ends = lookup.find(a, b)
        arrays = property_arrays(SCALE_UP.name, affected.columns(np.array(ids), *values))
        table = pa.table([starts, ends, *arrays], ["from", "to", *property_names(SCALE_UP.name)])
        pairs = lookup.labels[starts].astype(np.int16) * len(_LABEL_NAMES) + lookup.labels[ends]
        for pair in np.unique(pairs):
            start, end = divmod(int(pair), len(_LABEL_NAMES))
            batches[_LABEL_NAMES[start], _LABEL_NAMES[end]].append(table.take(np.flatnonzero(pairs == pair)))
    while batches:
        labels, tables = batches.popitem()
        joined = pa.concat_tables(tables)
        tables.clear()  # 2 million links take some hundred megabytes
        for index, name in enumerate(("from", "to")):
            joined = joined.set_column(index, name, lookup.addresses.take(joined[name].combine_chunks()))
        yield Columns(relationship_of(*labels), joined, labels)


class _NodeLookup:
    """Finds nodes by id, as positions among all nodes in the order of their ids."""

    def __init__(self, nodes: Sequence[NodeColumns]) -> None:
        ids = np.concatenate([np.array(part.ids, np.int64) for part in nodes])
        labels = [np.full(len(part.ids), _LABEL_NAMES.index(part.label), np.int8) for part in nodes]
        order = np.argsort(ids)
        self._ids, self.labels = ids[order], np.concatenate(labels)[order]
        self._ranks = np.concatenate([np.array(part.ranks, np.int32) for part in nodes])[order]
        self.addresses = pa.concat_arrays([pa.array(part.addresses, pa.string()) for part in nodes]).take(order)

    def find(self, a: Sequence[int], b: Sequence[int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the positions of the lower and the higher end of each link."""
        first, second = (np.searchsorted(self._ids, np.array(ids, np.int64)) for ids in (a, b))
        is_downward = self._ranks[first] > self._ranks[second]
        return np.where(is_downward, second, first), np.where(is_downward, first, second)


class _AffectedLinks:
    """The links of a state, whose values differ from those of a healthy link."""

    def __init__(self, state: ChangingState) -> None:
        self._values = {int(key): values for key, values in state.sections["link"].items()}
        self._ids = np.array(sorted(self._values), np.int64)

    def columns(
        self, ids: NDArray[np.int64], technologies: Any, scopes: Any, lanes: Any, cables: Any, bandwidths: Any
    ) -> tuple[Any, ...]:
        """Return the columns of links with these ids, which are in order, after the ends."""
        nominal = np.array(bandwidths, np.float64) / GIGA
        carried, states, factors = nominal.copy(), ["up"] * len(ids), list[float | None]([None] * len(ids))
        first, last = np.searchsorted(self._ids, [ids[0], ids[-1] + 1])
        for key in self._ids[first:last].tolist():
            index = int(np.searchsorted(ids, key))
            state, factor_ppm, bandwidth = self._values[key]
            carried[index], states[index], factors[index] = bandwidth / GIGA, state, factor_of(factor_ppm)
        return technologies, scopes, lanes, cables, nominal, carried, states, factors
