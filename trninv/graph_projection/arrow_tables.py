"""Make Arrow tables with the types that `trninv.graph_projection.schema` declares."""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from trninv.graph_projection.schema import LABELS, RELATIONSHIPS, Property

_TYPES = {"STRING": pa.string(), "INT64": pa.int64(), "DOUBLE": pa.float64(), "BOOL": pa.bool_()}
_PROPERTIES: Mapping[str, Sequence[Property]] = {
    **{label.name: label.properties for label in LABELS},
    **{
        relationship.name: (Property("from", "STRING", ""), Property("to", "STRING", ""), *relationship.properties)
        for relationship in RELATIONSHIPS
    },
}
_KEY_TYPES = {label.name: label.properties[0].type for label in LABELS}


def arrow_table(name: str, values: Any, pair: tuple[str, str] | None = None) -> Any:
    """Return the columns of a label or relationship as an Arrow table, in the order of the declaration.

    Parameters
    ----------
    pair
        The labels that a relationship's rows join; the columns ``from`` and ``to`` have the keys of these nodes.

    """
    fields = [(item.name, _TYPES[item.type]) for item in _PROPERTIES[name]]
    if pair:
        fields[:2] = [(end, _TYPES[_KEY_TYPES[label]]) for end, label in zip(("from", "to"), pair, strict=True)]
    arrays = [
        values[column] if isinstance(values, pa.Table) else pa.array(values[column], kind) for column, kind in fields
    ]
    return pa.table(arrays, schema=pa.schema(fields))


def property_arrays(name: str, columns: Sequence[Sequence[Any]]) -> list[Any]:
    """Return the properties of a relationship as arrays."""
    return [pa.array(column, _TYPES[item.type]) for item, column in zip(_PROPERTIES[name][2:], columns, strict=True)]


def property_names(name: str) -> list[str]:
    """Return the names of a relationship's properties."""
    return [item.name for item in _PROPERTIES[name][2:]]
