"""Declare incidents, open and closed, as things, which are kinds of rows that can be queried, from their fields.

Incidents are computed, not stored: the table and the columns of the declaration are only names.
"""

from collections.abc import Iterator
from typing import Any, Final, get_args, get_origin

from sqlalchemy import column, table

from trninv.enumeration import DescribedEnum
from trninv.incidents.closed_incidents import MAX_CLOSED, list_closed_incidents
from trninv.incidents.grouping import list_incidents
from trninv.incidents.model import ClosedIncident, Incident, IncidentChange
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


def _fields(model: Any) -> Iterator[Field]:
    """Yield a field for each field of incidents that is neither a tuple nor an `IncidentChange`."""
    for field in answer_fields(model):
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


_SEVERITY_RANK: Final = Field(
    "severity_rank", ValueFormat.INT, column("severity_rank"), "Rank of the severity, 0 for the worst."
)
INCIDENT: Final = Thing(
    name="incident",
    description="Unhealthy parts that share a root cause.",
    list_name="incidents",
    list_description="Unhealthy parts grouped by root cause, the worst loss first.",
    table=table("incident", column("id")),
    fields=tuple(_fields(Incident)),
    sort_keys=(_SEVERITY_RANK,),
    has_scope=True,
    read_rows=list_incidents,
)
CLOSED_INCIDENT: Final = Thing(
    name="closed_incident",
    description="An incident of which every part is up again.",
    list_name="closed_incidents",
    list_description=f"The last {MAX_CLOSED} incidents that closed, the latest first.",
    table=table("closed_incident", column("id")),
    fields=tuple(_fields(ClosedIncident)),
    sort_keys=(_SEVERITY_RANK,),
    has_scope=True,
    read_rows=list_closed_incidents,
)
