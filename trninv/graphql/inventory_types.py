"""Generate the inventory's GraphQL types, such as Chip and Link, from the declared kinds (`trninv.inventory.schema`).

The types are never instantiated. Compiled SQL writes rows as JSON; an `ObjectSerializer` writes objects that are not
read from the database, such as an event as it happens, from their attributes.
"""

from collections.abc import Sequence
from typing import Any, Final

import strawberry
from strawberry.types.field import StrawberryField

from trninv.graphql.input_types import FILTERS, ORDERS, field_type
from trninv.graphql.pagination import PAGE_ARGUMENTS, ConnectionType, OptionalArgument, field_with_arguments
from trninv.graphql.scalars import Address, lazy_list, lazy_type, list_type
from trninv.inventory.schema.thing import RelatedList, Relation, Thing, ValueFormat
from trninv.inventory.schema.things import THINGS


@strawberry.interface(name="Node", description="Anything that the fields node and nodes return by id.")
class NodeInterface:
    id: strawberry.ID = strawberry.field(description="Opaque id, for the fields node and nodes.")


@strawberry.interface(name="Located", description="Anything that has an address.")
class LocatedInterface:
    address: Address = strawberry.field(description="Unique address, stable across reseeding.")


_INTERFACES: Final = {ValueFormat.ID: NodeInterface, ValueFormat.ADDRESS: LocatedInterface}
"""The interfaces that declare a field of a certain format; a kind with a field of that format implements them."""


def _member(graphql_type: Any, description: str, *, nullable: bool = False) -> StrawberryField:
    member: StrawberryField = strawberry.field(
        description=description, graphql_type=graphql_type | None if nullable else graphql_type
    )
    return member


def _to_one_field(relation: Relation) -> StrawberryField:
    name = "LocatedInterface" if len(relation.things) > 1 else THINGS[relation.things[0]].type
    return _member(lazy_type(name), relation.description, nullable=relation.nullable)


def _to_many_field(related_list: RelatedList) -> StrawberryField:
    kind = THINGS[related_list.thing]
    if related_list.paged:
        return connection_field(kind, related_list.description)
    arguments = [("attribute", str, "Only facts about this attribute.")] if kind.name == "fact" else []
    return field_with_arguments(_member(lazy_list(kind.type), related_list.description), arguments)


def connection_field(
    kind: Thing, description: str, extra_arguments: Sequence[OptionalArgument] = (), **metadata: object
) -> StrawberryField:
    """Create a field that pages rows of a kind, with filter and order.

    Parameters
    ----------
    extra_arguments
        Arguments in addition to filter, order and page.

    """
    connection_type: Any = ConnectionType
    field = strawberry.field(
        description=description, graphql_type=connection_type[lazy_type(kind.type)], metadata=metadata
    )
    optional_arguments = (
        ("filter", FILTERS[kind.name], "Conditions on the items."),
        ("order_by", list_type(ORDERS[kind.name]), "Sort order of the items; the id is always last."),
        *extra_arguments,
        *PAGE_ARGUMENTS,
    )
    return field_with_arguments(field, optional_arguments)


def _create_type(kind: Thing) -> type:
    members: dict[str, Any] = {
        field.name: _member(field_type(field), field.description, nullable=field.nullable)
        for field in kind.fields
        if field.format not in _INTERFACES
    }
    members |= {relation.name: _to_one_field(relation) for relation in kind.relations}
    members |= {related_list.name: _to_many_field(related_list) for related_list in kind.lists}
    bases = tuple(_INTERFACES[field.format] for field in kind.fields if field.format in _INTERFACES)
    generated: type = strawberry.type(description=kind.description)(
        type(kind.type, bases, {"__module__": __name__, **members})
    )
    return generated


INVENTORY_TYPES = {kind.name: _create_type(kind) for kind in THINGS.values()}
"""GraphQL types by kind."""
# strawberry.lazy looks up types and inputs in this module, by name
globals().update({kind.type: INVENTORY_TYPES[kind.name] for kind in THINGS.values()})
globals().update({filter_input.__name__: filter_input for filter_input in FILTERS.values()})
