"""Generate GraphQL types and enums from answer classes.

An answer class (`trninv.routing.answer`) is the frozen dataclass that a question returns; its annotated fields become
fields of the GraphQL type. Links and facts in an answer are references: the compiler reads their rows.
"""

from collections.abc import Sequence
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Self, Union, get_args, get_origin

import strawberry

from trninv import units
from trninv.enumeration import DescribedEnum
from trninv.graphql.enums import enum_type, first_paragraph
from trninv.graphql.inventory_types import connection_field
from trninv.graphql.pagination import in_memory_field
from trninv.graphql.scalars import Address, BandwidthType, BigInt, CapacityType, DurationType, lazy_type, list_type
from trninv.incidents.model import IncidentNote
from trninv.inventory.schema.things import THINGS
from trninv.routing import evidence
from trninv.routing.answer import (
    Answer,
    AnswerField,
    CitedFact,
    LinkRef,
    SchemaScalar,
    answer_fields,
    strip_annotations,
)
from trninv.routing.fleet import BaseFleet

_ROW_KINDS: Final = {LinkRef: "link", CitedFact: "fact"}
"""Kind of the inventory row that a reference class refers to."""
_NAMED_TYPES: Final[dict[type, Any]] = {
    str: str,
    int: int,
    float: float,
    bool: bool,
    units.Bandwidth: BandwidthType,
    units.Capacity: CapacityType,
    units.Duration: DurationType,
    IncidentNote: lazy_type("IncidentNote"),
    **{reference: lazy_type(THINGS[kind].type) for reference, kind in _ROW_KINDS.items()},
}
"""GraphQL types that are not generated here, by class."""
_TYPE_BY_SCHEMA_SCALAR: Final = {SchemaScalar.ADDRESS: Address, SchemaScalar.EXACT: BigInt}


@cache
def answer_type(answer_class: type) -> Any:
    """Return the GraphQL type of an answer class or of a class used in one."""
    namespace: dict[str, Any] = {"__module__": __name__, "__annotations__": {}}
    for field in answer_fields(answer_class):
        namespace[field.name] = _build_field(answer_class, field)
    if issubclass(answer_class, Answer):
        namespace["instances"] = strawberry.field(
            description=f"Instances and hosts in the servers of the answer, the first {evidence.MAX_INSTANCES}.",
            graphql_type=list_type(answer_type(evidence.ServerInstance)),
            metadata={"late": _find_instances},
        )
    generated = strawberry.type(description=first_paragraph(answer_class.__doc__))(
        type(answer_class.__name__, (), namespace)
    )
    globals()[answer_class.__name__] = generated  # where strawberry.lazy finds a type that refers to itself
    return generated


def _find_instances(fleet: BaseFleet, answer: Any) -> Sequence[evidence.ServerInstance]:
    """Return the instances in an answer's servers.

    They are read when the answer is written, so that a cached answer stays valid when other instances are bound.
    """
    return fleet.instances(evidence.servers_in_answer(answer))


def _build_field(owner: type, field: AnswerField) -> Any:
    if SchemaScalar.PAGED in field.scalars:
        if kind := _ROW_KINDS.get(_item_type(field.type_hint)):
            return connection_field(THINGS[kind], field.description, is_page=True)
        return in_memory_field(Address, field.description, is_page=True)
    return strawberry.field(
        description=field.description, graphql_type=graphql_type(owner, field.type_hint, field.scalars)
    )


def _item_type(hint: Any) -> Any:
    """Return the item type of a tuple, or the type itself."""
    return strip_annotations(get_args(hint)[0])[0] if get_origin(hint) is tuple else hint


def graphql_type(owner: type, hint: Any, scalars: frozenset[Any] = frozenset()) -> Any:
    """Return the GraphQL type for an answer field's type hint."""
    bare_type, annotations = strip_annotations(hint)
    for scalar in {*scalars, *annotations} & _TYPE_BY_SCHEMA_SCALAR.keys():
        return _TYPE_BY_SCHEMA_SCALAR[scalar]
    if get_origin(bare_type) in (Union, UnionType):
        return next(graphql_type(owner, member) for member in get_args(bare_type) if member is not NoneType) | None
    if get_origin(bare_type) is tuple:
        return list_type(graphql_type(owner, get_args(bare_type)[0]))
    if bare_type is Self:
        return Annotated[owner.__name__, strawberry.lazy(__name__)]
    if issubclass(bare_type, DescribedEnum):
        return enum_type(bare_type)
    return _NAMED_TYPES.get(bare_type) or answer_type(bare_type)
