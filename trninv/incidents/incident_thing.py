"""Declare incidents as a thing, which is a kind of row that can be queried, from the fields of `Incident`.

Incidents are computed, not stored: the table and the columns of the declaration are only names.
"""

from collections.abc import Iterator
from typing import Final, get_args, get_origin

from sqlalchemy import column, table

from trninv.enumeration import DescribedEnum
from trninv.incidents.grouping import list_incidents
from trninv.incidents.model import Incident, IncidentChange
from trninv.inventory.schema.thing import Enumeration, Field, Sql, Thing, ValueFormat
from trninv.routing.answer import SchemaScalar, answer_fields, strip_annotations
from trninv.units import Bandwidth

_FORMATS: Final = {
    str: ValueFormat.TEXT,
    int: ValueFormat.INT,
    bool: ValueFormat.BOOLEAN,
    Bandwidth: ValueFormat.BANDWIDTH,
}
"""The default format of values, by their Python type."""


def _fields() -> Iterator[Field]:
    """Yield a field for each field of `Incident` that is neither a tuple nor an `IncidentChange`."""
    for field in answer_fields(Incident):
        value_type, *none = get_args(field.type_hint) or (field.type_hint,)  # in "T | None", T comes first
        value_type, annotations = strip_annotations(value_type)
        if get_origin(field.type_hint) is tuple or value_type is IncidentChange:
            continue
        is_enum = issubclass(value_type, DescribedEnum)
        value_format = ValueFormat.ENUM if is_enum else _FORMATS[value_type]
        if SchemaScalar.ADDRESS in annotations:
            value_format = ValueFormat.PLACE
        elif field.name.endswith("_at"):
            value_format = ValueFormat.TIME
        enumeration = Enumeration.from_choices(value_type) if is_enum else None
        sql: Sql = column(field.name)
        yield Field(field.name, value_format, sql, field.description, bool(none), enumeration=enumeration)


INCIDENT: Final = Thing(
    name="incident",
    description="Unhealthy parts that share a root cause.",
    list_name="incidents",
    list_description="Unhealthy parts grouped by root cause: most severe first, then by lost chips and bandwidth.",
    table=table("incident", column("id")),
    fields=tuple(_fields()),
    sort_keys=(
        Field("severity_rank", ValueFormat.INT, column("severity_rank"), "Rank of the severity, 0 for the worst."),
    ),
    has_scope=True,
    read_rows=list_incidents,
)
