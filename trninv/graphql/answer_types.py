"""Generate GraphQL types and enums from answer classes."""

from collections.abc import Sequence
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Self, Union, get_args, get_origin

import strawberry
from sqlalchemy import Connection

from trninv import units
from trninv.enumeration import DescribedEnum
from trninv.graphql.inventory_types import connection_field, to_object
from trninv.graphql.pagination import paged_field
from trninv.graphql.request_context import AppInfo, ChildList
from trninv.graphql.scalars import Address, BandwidthType, BigInt, CapacityType, DurationType, lazy_type, list_type
from trninv.inventory.schema.things import THINGS
from trninv.inventory.state.bindings import bound_machines
from trninv.routing import evidence
from trninv.routing.answer import (
    Answer,
    AnswerField,
    CitedFact,
    LinkRef,
    SchemaScalar,
    answer_fields,
    strip_annotations,
    total_count,
)

_SCALARS: Final[dict[type, Any]] = {
    str: str,
    int: int,
    float: float,
    bool: bool,
    units.Bandwidth: BandwidthType,
    units.Capacity: CapacityType,
    units.Duration: DurationType,
}
_SCALAR_BY_FORM: Final = {SchemaScalar.ADDRESS: Address, SchemaScalar.EXACT: BigInt}
_ROW_KINDS: Final = {LinkRef: "link", CitedFact: "fact"}
"""Kind of the inventory row that a reference class stands for."""


@cache
def answer_type(answer_class: type) -> Any:
    """Return the GraphQL type of an answer class or of a class used in one."""
    namespace: dict[str, Any] = {"__module__": __name__, "__annotations__": {}}
    for field in answer_fields(answer_class):
        namespace[field.name] = _build_field(answer_class, field)
    if issubclass(answer_class, Answer):
        namespace["instances"] = strawberry.field(
            resolver=_resolve_instances,
            description=f"Instances and hosts in the servers of the answer, the first {evidence.MAX_INSTANCES}.",
            graphql_type=list_type(answer_type(evidence.ServerInstance)),
            metadata={"attribute": "instances", "has_instances": True},
        )
    generated = strawberry.type(description=_first_paragraph(answer_class.__doc__))(
        type(answer_class.__name__, (), namespace)
    )
    globals()[answer_class.__name__] = generated  # strawberry.lazy looks up a type that refers to itself here
    return generated


async def _resolve_instances(parent: strawberry.Parent[Any], info: AppInfo) -> Any:
    """Read the instances on request only: the answer is cached, and bindings change while it does not."""

    def read(connection: Connection) -> list[evidence.ServerInstance]:
        return [evidence.ServerInstance(*row) for row in bound_machines(connection, evidence.servers_in_answer(parent))]

    return await info.context.read(read)


@cache
def enum_type(choice_class: type[DescribedEnum]) -> Any:
    """Return the GraphQL enum of a choice class."""
    generated: Any = strawberry.enum(choice_class, description=_first_paragraph(choice_class.__doc__))
    for value in generated.__strawberry_definition__.values:
        value.description = choice_class[value.name].description
    return generated


def _first_paragraph(doc: str | None) -> str:
    """Return the first paragraph of a docstring on one line."""
    return " ".join((doc or "").partition("\n\n")[0].split())


def _build_field(owner: type, field: AnswerField) -> Any:
    item = _item_type(field.type_hint)
    if item in _ROW_KINDS:
        return _build_row_field(field, _ROW_KINDS[item])
    if SchemaScalar.PAGED in field.scalars:
        return paged_field(Address, field.description, lambda parent, *_: getattr(parent, field.name), cursor=str)

    def resolve(parent: strawberry.Parent[Any]) -> Any:
        return getattr(parent, field.name)

    graphql_type, metadata = _graphql_type(owner, field.type_hint, field.scalars), {"attribute": field.name}
    return strawberry.field(
        resolver=resolve, description=field.description, graphql_type=graphql_type, metadata=metadata
    )


def _build_row_field(field: AnswerField, kind: str) -> Any:
    """Build a field that resolves references to inventory rows."""
    if SchemaScalar.PAGED in field.scalars:
        return connection_field(
            THINGS[kind], lambda info, parent: _list_of_rows(info, kind, parent, field.name), field.description
        )

    async def resolve(parent: strawberry.Parent[Any], info: AppInfo) -> Any:
        value = getattr(parent, field.name)
        objects = [to_object(kind, await info.context.row(kind, item.id)) for item in _as_tuple(value)]
        return objects if isinstance(value, tuple) else objects[0]

    row_type = lazy_type(THINGS[kind].type)
    is_list = get_origin(field.type_hint) is tuple
    return strawberry.field(
        resolver=resolve, description=field.description, graphql_type=list_type(row_type) if is_list else row_type
    )


def _list_of_rows(info: AppInfo, kind: str, parent: Any, name: str) -> ChildList:
    ids = sorted(item.id for item in getattr(parent, name))
    return ChildList(info.context, THINGS[kind], tuple(ids), size=total_count(parent, name))


def _as_tuple(value: Any) -> Sequence[Any]:
    return value if isinstance(value, tuple) else (value,)


def _item_type(hint: Any) -> Any:
    """Return the item type of a tuple, or the type itself."""
    return strip_annotations(get_args(hint)[0])[0] if get_origin(hint) is tuple else hint


def _graphql_type(owner: type, hint: Any, forms: frozenset[Any] = frozenset()) -> Any:
    """Return the GraphQL type for an answer field's type hint."""
    bare, notes = strip_annotations(hint)
    if scalar := next((_SCALAR_BY_FORM[member] for member in {*forms, *notes} if member in _SCALAR_BY_FORM), None):
        return scalar
    if get_origin(bare) in (Union, UnionType):
        return next(_graphql_type(owner, member) for member in get_args(bare) if member is not NoneType) | None
    if get_origin(bare) is tuple:
        return list_type(_graphql_type(owner, get_args(bare)[0]))
    if bare is Self:
        return Annotated[owner.__name__, strawberry.lazy(__name__)]
    if issubclass(bare, DescribedEnum):
        return enum_type(bare)
    return _SCALARS.get(bare) or answer_type(bare)
