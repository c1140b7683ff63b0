"""Generate the inventory's GraphQL types from the table of fields."""

from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, Any

import strawberry
from sqlalchemy import Connection as Database
from strawberry.types.field import StrawberryField
from strawberry.utils.str_converters import to_camel_case as camel

from trninv.graphql.enums import stored_enum
from trninv.graphql.input_types import FILTERS, ORDERS, field_type
from trninv.graphql.list_arguments import ListArguments
from trninv.graphql.pagination import (
    PAGE_ARGUMENTS,
    ConnectionType,
    OptionalArgument,
    field_with_arguments,
    read_arguments,
)
from trninv.graphql.request_context import AppInfo, ChildList, RequestContext
from trninv.graphql.row_loaders import Row, load_by_ids
from trninv.graphql.scalars import Address, CitedBandwidth, CitedCapacity, lazy_list, lazy_type, list_type
from trninv.inventory.address.lookup import resolve
from trninv.inventory.schema.thing import DIVISORS, Field, RelatedList, Relation, Thing, ValueFormat
from trninv.inventory.schema.things import THINGS


@strawberry.interface(name="Node", description="Anything with an id for node and nodes.")
class NodeInterface:
    kind: strawberry.Private[Thing]
    row: strawberry.Private[Row]

    @strawberry.field(description="Opaque id for node and nodes.")
    def id(self) -> strawberry.ID:
        return strawberry.ID(f"{self.kind.name}:{self.row['id']}")


@strawberry.interface(name="Located", description="Anything that has an address.")
class LocatedInterface:
    kind: strawberry.Private[Thing]
    row: strawberry.Private[Row]

    @strawberry.field(description="Unique address, stable across reseeding.")
    def address(self) -> Address:
        return Address(self.row["address"])


def _to_graphql(field: Field, row: Row) -> Any:
    value = row[field.name]
    if value is None:
        return None
    if field.format in (ValueFormat.CAPACITY, ValueFormat.BANDWIDTH):
        quantity = (CitedCapacity if field.format is ValueFormat.CAPACITY else CitedBandwidth)(value)
        quantity.fact_key = (row[f"{field.name}_subject"], field.fact[1]) if field.fact else None
        return quantity
    if field.enumeration:
        return stored_enum(field.enumeration)(value)
    divisor = DIVISORS.get(field.format)
    return value / divisor if divisor else bool(value) if field.format is ValueFormat.BOOLEAN else value


def _scalar_field(field: Field) -> StrawberryField:
    def resolve(self: Any) -> Any:
        return _to_graphql(field, self.row)

    value_type = field_type(field)
    graphql_field: StrawberryField = strawberry.field(
        resolver=resolve,
        description=field.description,
        graphql_type=value_type | None if field.nullable else value_type,
    )
    return graphql_field


def _to_one_field(one: Relation) -> StrawberryField:
    async def resolve(self: Any, info: AppInfo) -> Any:
        key = self.row[f"{one.name}_key"]
        if key is None:
            return None
        name = one.things[0] if not one.things[1:] else await info.context.node_kind(key)
        return to_object(name, await info.context.row(name, key))

    target_type = lazy_type("LocatedInterface" if one.things[1:] else THINGS[one.things[0]].type)
    graphql_field: StrawberryField = strawberry.field(
        resolver=resolve, description=one.description, graphql_type=target_type | None if one.nullable else target_type
    )
    return graphql_field


def _to_many_field(many: RelatedList) -> StrawberryField:
    kind = THINGS[many.thing]

    def children(info: AppInfo, parent: Any) -> ChildList:
        return ChildList(info.context, kind, many, parent.row[f"{many.name}_key"])

    if many.paged:
        return connection_field(kind, children, many.description)

    async def resolve_all(self: Any, info: AppInfo) -> Any:
        own = self.row["id"] if many.exclude is not None else None
        return [to_object(kind.name, row) for row in await children(info, self).all_rows() if row["id"] != own]

    async def resolve_facts(
        self: Any,
        info: AppInfo,
        attribute: Annotated[str | None, strawberry.argument(description="Only facts about this attribute.")] = None,
    ) -> Any:
        return [fact for fact in await resolve_all(self, info) if attribute in (None, fact.row["attribute"])]

    resolve = resolve_facts if kind.name == "fact" else resolve_all
    graphql_field: StrawberryField = strawberry.field(
        resolver=resolve, description=many.description, graphql_type=lazy_list(kind.type)
    )
    return graphql_field


def connection_field(
    kind: Thing,
    children: Callable[[AppInfo, Any], ChildList],
    description: str,
    extra_arguments: Sequence[OptionalArgument] = (),
) -> StrawberryField:
    """Create a field that pages rows of a kind, with filter and order.

    Parameters
    ----------
    extra_arguments
        Arguments in addition to filter, order and page.

    """

    def resolve(self: Any, info: AppInfo, **_: Any) -> Any:
        list_arguments = ListArguments.parse(kind, read_arguments(info))
        return ConnectionType(
            child_list=children(info, self),
            list_arguments=list_arguments,
            to_object=lambda row: to_object(kind.name, row),
        )

    connection_type: Any = ConnectionType
    field = strawberry.field(
        resolver=resolve, description=description, graphql_type=connection_type[lazy_type(kind.type)]
    )
    optional_arguments = (
        ("filter", FILTERS[kind.name], "Conditions on the items."),
        ("order_by", list_type(ORDERS[kind.name]), "Sort order of the items; the id is always last."),
        *extra_arguments,
        *PAGE_ARGUMENTS,
    )
    return field_with_arguments(field, optional_arguments)


def to_object(kind: str, row: Any) -> Any:
    """Return the GraphQL object of a row."""
    return INVENTORY_TYPES[kind](kind=THINGS[kind], row=row)


def resolve_addresses(connection: Database, addresses: Iterable[str]) -> list[Any]:
    """Return the objects at addresses, in the same order.

    Raises
    ------
    AddressError
        An address is malformed or names nothing.

    """
    places = [resolve(connection, address) for address in addresses]
    keys: dict[str, set[int]] = {}
    for place in places:
        keys.setdefault(place.level, set()).add(place.id)
    rows_by_level = {level: load_by_ids(connection, THINGS[level], sorted(ids)) for level, ids in keys.items()}
    return [to_object(place.level, rows_by_level[place.level][place.id]) for place in places]


def _create_type(kind: Thing) -> type:
    namespace: dict[str, Any] = {
        "__annotations__": {"kind": strawberry.Private[Thing], "row": strawberry.Private[Row]},
        "__module__": __name__,
    }
    for field in kind.fields:
        if field.format not in (ValueFormat.ID, ValueFormat.ADDRESS):
            namespace[f"{field.name}_"] = _scalar_field(field)
    namespace |= {f"{one.name}_": _to_one_field(one) for one in kind.relations}
    namespace |= {f"{many.name}_": _to_many_field(many) for many in kind.lists}
    for name, member in namespace.items():  # attributes end in _ so that they don't shadow kind and row
        if hasattr(member, "graphql_name"):
            member.graphql_name = camel(name.removesuffix("_"))
    bases = (*([NodeInterface] if kind.is_node else []), *([LocatedInterface] if kind.is_located else []))
    generated: type = strawberry.type(description=kind.description)(type(kind.type, bases, namespace))
    return generated


INVENTORY_TYPES = {kind.name: _create_type(kind) for kind in THINGS.values()}
globals().update({kind.type: INVENTORY_TYPES[kind.name] for kind in THINGS.values()})
globals().update({filter_input.__name__: filter_input for filter_input in FILTERS.values()})
RequestContext.to_object = staticmethod(to_object)
