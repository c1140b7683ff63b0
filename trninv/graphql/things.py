"""The types of the inventory and the catalog, made from the table of fields."""

from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, Any

import strawberry
from sqlalchemy import Connection as Database
from strawberry.types.field import StrawberryField
from strawberry.utils.str_converters import to_camel_case as camel

from trninv.graphql.arguments import Asked
from trninv.graphql.connections import Connection
from trninv.graphql.context import AppInfo, Below, Context
from trninv.graphql.enums import enum_of
from trninv.graphql.inputs import FILTERS, ORDERS, type_of
from trninv.graphql.lazy import lazy, lazy_list, list_of
from trninv.graphql.pages import PAGE_ARGUMENTS, Offered, arguments, taking
from trninv.graphql.rows import Row, by_ids
from trninv.graphql.scalars import Address, Rate, Size
from trninv.inventory.address import locate
from trninv.inventory.fields import DIVISORS, Field, Form, Kind, Many, One
from trninv.inventory.kinds import KINDS


@strawberry.interface(description="Something with an id, which node and nodes take.")
class Node:
    kind: strawberry.Private[Kind]
    row: strawberry.Private[Row]

    @strawberry.field(description="Opaque id, which node and nodes take.")
    def id(self) -> strawberry.ID:
        return strawberry.ID(f"{self.kind.name}:{self.row['id']}")


@strawberry.interface(description="Something that an address names.")
class Located:
    kind: strawberry.Private[Kind]
    row: strawberry.Private[Row]

    @strawberry.field(description="Address that names it, unique and stable across reseeding.")
    def address(self) -> Address:
        return Address(self.row["address"])


def _shown(field: Field, row: Row) -> Any:
    value = row[field.name]
    if value is None:
        return None
    if field.form in (Form.CAPACITY, Form.BANDWIDTH):
        quantity = (Size if field.form is Form.CAPACITY else Rate)(value)
        quantity.about = (row[f"{field.name}_subject"], field.fact[1]) if field.fact else None
        return quantity
    if field.enumeration:
        return enum_of(field.enumeration)(value)
    divisor = DIVISORS.get(field.form)
    return value / divisor if divisor else bool(value) if field.form is Form.YES else value


def _value(field: Field) -> StrawberryField:
    def resolve(self: Any) -> Any:
        return _shown(field, self.row)

    of = type_of(field)
    shown: StrawberryField = strawberry.field(
        resolver=resolve, description=field.says, graphql_type=of | None if field.null else of
    )
    return shown


def _one(one: One) -> StrawberryField:
    async def resolve(self: Any, info: AppInfo) -> Any:
        key = self.row[f"{one.name}_key"]
        if key is None:
            return None
        name = one.kinds[0] if not one.kinds[1:] else await info.context.kind_of(key)
        return made(name, await info.context.row(name, key))

    of = lazy("Located" if one.kinds[1:] else KINDS[one.kinds[0]].type)
    shown: StrawberryField = strawberry.field(
        resolver=resolve, description=one.says, graphql_type=of | None if one.null else of
    )
    return shown


def _many(many: Many) -> StrawberryField:
    kind = KINDS[many.kind]

    def below(info: AppInfo, parent: Any) -> Below:
        return Below(info.context, kind, many, parent.row[f"{many.name}_key"])

    if many.paged:
        return listed(kind, below, many.says)

    async def every(self: Any, info: AppInfo) -> Any:
        own = self.row["id"] if many.but is not None else None
        return [made(kind.name, row) for row in await below(info, self).all() if row["id"] != own]

    async def some(
        self: Any,
        info: AppInfo,
        attribute: Annotated[str | None, strawberry.argument(description="Only facts about this attribute.")] = None,
    ) -> Any:
        return [fact for fact in await every(self, info) if attribute in (None, fact.row["attribute"])]

    resolve = some if kind.name == "fact" else every
    shown: StrawberryField = strawberry.field(
        resolver=resolve, description=many.says, graphql_type=lazy_list(kind.type)
    )
    return shown


def listed(
    kind: Kind, below: Callable[[AppInfo, Any], Below], says: str, more: Sequence[Offered] = ()
) -> StrawberryField:
    """A field with a page of a kind: filtered, ordered, in either direction.

    Parameters
    ----------
    more
        Other arguments that it takes: name, type and description of each.

    """

    def resolve(self: Any, info: AppInfo, **_: Any) -> Any:
        asked = Asked.of(kind, arguments(info))
        return Connection(below=below(info, self), asked=asked, make=lambda row: made(kind.name, row))

    of: Any = Connection
    field = strawberry.field(resolver=resolve, description=says, graphql_type=of[lazy(kind.type)])
    offered = (
        ("filter", FILTERS[kind.name], "What must hold of the items."),
        ("order_by", list_of(ORDERS[kind.name]), "What the items are sorted by, the id always last."),
        *more,
        *PAGE_ARGUMENTS,
    )
    return taking(field, offered)


def made(kind: str, row: Any) -> Any:
    """The object of a row."""
    return TYPES[kind](kind=KINDS[kind], row=row)


def at_addresses(connection: Database, addresses: Iterable[str]) -> list[Any]:
    """What addresses name, in their order.

    Raises
    ------
    AddressError
        One names nothing.

    """
    places = [locate(connection, each) for each in addresses]
    keys: dict[str, set[int]] = {}
    for place in places:
        keys.setdefault(place.level, set()).add(place.id)
    found = {level: by_ids(connection, KINDS[level], sorted(ids)) for level, ids in keys.items()}
    return [made(place.level, found[place.level][place.id]) for place in places]


def _type(kind: Kind) -> type:
    namespace: dict[str, Any] = {
        "__annotations__": {"kind": strawberry.Private[Kind], "row": strawberry.Private[Row]},
        "__module__": __name__,
    }
    for field in kind.fields:
        if field.form not in (Form.ID, Form.ADDRESS):
            namespace[f"{field.name}_"] = _value(field)
    namespace |= {f"{one.name}_": _one(one) for one in kind.ones}
    namespace |= {f"{many.name}_": _many(many) for many in kind.lists}
    for name, member in namespace.items():  # their names end in _ lest they hide kind and row
        if hasattr(member, "graphql_name"):
            member.graphql_name = camel(name.removesuffix("_"))
    bases = (*([Node] if kind.is_node else []), *([Located] if kind.is_located else []))
    made_type: type = strawberry.type(description=kind.says)(type(kind.type, bases, namespace))
    return made_type


TYPES = {kind.name: _type(kind) for kind in KINDS.values()}
globals().update({kind.type: TYPES[kind.name] for kind in KINDS.values()})
globals().update({made_input.__name__: made_input for made_input in FILTERS.values()})
Context.made = staticmethod(made)
