"""The types of the inventory and the catalog, and the inputs of their lists, made from the table of fields."""

from collections.abc import Callable
from typing import Annotated, Any, Final

import strawberry
from graphql.execution.values import get_argument_values
from strawberry.annotation import StrawberryAnnotation
from strawberry.types import Info
from strawberry.types.arguments import StrawberryArgument
from strawberry.utils.str_converters import to_camel_case as camel

from trninv.graphql.arguments import LEVELS, Asked, is_ordered
from trninv.graphql.connections import Connection, Direction
from trninv.graphql.context import AppInfo, Below, Context
from trninv.graphql.lazy import lazy, lazy_list, list_of
from trninv.graphql.rows import Row
from trninv.graphql.scalars import Address, Bandwidth, BandwidthInput, BigInt, Capacity, CapacityInput, Rate, Size
from trninv.inventory.fields import DIVISORS, Field, Form, Kind, Many, One
from trninv.inventory.kinds import KINDS

SCALAR: Final[dict[Form, Any]] = {
    Form.ID: strawberry.ID,
    Form.ADDRESS: Address,
    Form.WORD: str,
    Form.TEXT: str,
    Form.WHOLE: int,
    Form.EXACT: BigInt,
    Form.MILLIONTHS: float,
    Form.THOUSANDTHS: float,
    Form.YES: bool,
    Form.CAPACITY: Capacity,
    Form.BANDWIDTH: Bandwidth,
}


def _tests(name: str, of: Any, says: str, *more: str) -> type:
    """An input with a test a field."""
    members: dict[str, Any] = dict.fromkeys(("eq", "ne", "lt", "lte", "gt", "gte", *more), of)
    return _input(name, says, {**members, "in": list_of(of)})


def _input(name: str, says: str, members: dict[str, Any], *, one_of: bool = False) -> type:
    namespace: dict[str, Any] = {"__annotations__": {}, "__module__": __name__}
    maybe: Any = strawberry.Maybe
    for member, of in members.items():
        namespace["__annotations__"][f"{member}_"] = maybe[of] if one_of else of | None
        described = _TEST_SAYS.get(member, "Only those for which this holds.")
        default = {} if one_of else {"default": strawberry.UNSET}
        namespace[f"{member}_"] = strawberry.field(name=camel(member), description=described, **default)
    made: type = strawberry.input(description=says, one_of=one_of)(type(name, (), namespace))
    globals()[name] = made
    return made


_TEST_SAYS = {
    "eq": "Equal; null: has none.",
    "ne": "Not equal; null: has one.",
    "in": "Any of these.",
    "lt": "Less.",
    "lte": "Less or equal.",
    "gt": "More.",
    "gte": "More or equal.",
    "contains": "Has this within it.",
    "startsWith": "Begins with this.",
    "and": "All of these hold.",
    "or": "Any of these holds.",
    "not": "This does not hold.",
}

_TEXT_TESTS = _tests("TextFilter", str, "Tests of a text; every one given must hold.", "contains", "startsWith")
_FILTER: Final[dict[Form, type]] = {
    Form.WORD: _TEXT_TESTS,
    Form.TEXT: _TEXT_TESTS,
    Form.WHOLE: _tests("IntFilter", int, "Tests of a number; every one given must hold."),
    Form.EXACT: _tests("BigIntFilter", BigInt, "Tests of an exact number; every one given must hold."),
    Form.MILLIONTHS: _tests("FloatFilter", float, "Tests of a fraction; every one given must hold."),
    Form.CAPACITY: _tests("CapacityFilter", CapacityInput, "Tests of a size; every one given must hold."),
    Form.BANDWIDTH: _tests("BandwidthFilter", BandwidthInput, "Tests of a bandwidth; every one given must hold."),
    Form.YES: _input("BooleanFilter", "A test of a truth value.", {"eq": bool}),
}
_ADDRESSES = _input(
    "AddressFilter", "Which containing place: one address, or any of several.", {"eq": Address, "in": list[Address]}
)


def _filter_of(kind: Kind) -> type:
    name = f"{kind.type}Filter"
    levels = (["cluster"] if kind.block else []) + [level for level in LEVELS if level in kind.within]
    members: dict[str, Any] = dict.fromkeys(levels, _ADDRESSES)
    members |= {each.name: _FILTER[each.form] for each in kind.fields if each.listed}
    own = lazy(name)
    members |= {"and": list_of(own), "or": list_of(own), "not": own}
    return _input(name, "What must hold of the things listed; every field given must.", members)


def _order_of(kind: Kind) -> type | None:
    members = {each.name: Direction for each in kind.fields if is_ordered(each)}
    says = "One field to order by; equal ones are in the order of their ids."
    return _input(f"{kind.type}Order", says, members, one_of=True) if members else None


@strawberry.interface(description="Something with an id that node(id:) takes.")
class Node:
    kind: strawberry.Private[Kind]
    row: strawberry.Private[Row]

    @strawberry.field(description="Opaque id.")
    def id(self) -> strawberry.ID:
        return strawberry.ID(f"{self.kind.name}:{self.row['id']}")


@strawberry.interface(description="Something that an address names.")
class Located:
    kind: strawberry.Private[Kind]
    row: strawberry.Private[Row]

    @strawberry.field(description="Its address.")
    def address(self) -> Address:
        return Address(self.row["address"])


def arguments(info: Info[Any, Any]) -> dict[str, Any]:
    """A field's arguments as GraphQL coerced them, by their names in the schema."""
    raw = info._raw_info  # noqa: SLF001 # strawberry's own are converted to its types
    field = raw.parent_type.fields[raw.field_name]
    return get_argument_values(field, raw.field_nodes[0], raw.variable_values)


def _shown(field: Field, row: Row) -> Any:
    value = row[field.name]
    if value is None:
        return None
    if field.form in (Form.CAPACITY, Form.BANDWIDTH):
        quantity = (Size if field.form is Form.CAPACITY else Rate)(value)
        quantity.about = (row[f"{field.name}_subject"], field.fact[1]) if field.fact else None
        return quantity
    divisor = DIVISORS.get(field.form)
    return value / divisor if divisor else bool(value) if field.form is Form.YES else value


def _value(field: Field) -> Any:
    def resolve(self: Any) -> Any:
        return _shown(field, self.row)

    of = SCALAR[field.form]
    return strawberry.field(resolver=resolve, description=field.says, graphql_type=of | None if field.null else of)


def _one(one: One) -> Any:
    async def resolve(self: Any, info: AppInfo) -> Any:
        key = self.row[f"{one.name}_key"]
        if key is None:
            return None
        name = one.kinds[0] if not one.kinds[1:] else await info.context.kind_of(key)
        return made(name, await info.context.row(name, key))

    of = lazy("Located" if one.kinds[1:] else KINDS[one.kinds[0]].type)
    return strawberry.field(resolver=resolve, description=one.says, graphql_type=of | None if one.null else of)


def _many(many: Many) -> Any:
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
        attribute: Annotated[str | None, strawberry.argument(description="Only of this number.")] = None,
    ) -> Any:
        return [fact for fact in await every(self, info) if attribute in (None, fact.row["attribute"])]

    resolve = some if kind.name == "fact" else every
    return strawberry.field(resolver=resolve, description=many.says, graphql_type=lazy_list(kind.type))


def listed(kind: Kind, below: Callable[[AppInfo, Any], Below], says: str) -> Any:
    """A field with a page of a kind: filtered, ordered, in either direction."""

    def resolve(self: Any, info: AppInfo, **_: Any) -> Any:
        asked = Asked.of(kind, arguments(info))
        return Connection(below=below(info, self), asked=asked, make=lambda row: made(kind.name, row))

    of: Any = Connection
    field = strawberry.field(resolver=resolve, description=says, graphql_type=of[lazy(kind.type)])
    short = _SHORT if kind.name == "fact" else ()
    offered = (
        ("filter", FILTERS[kind.name], "Only these."),
        ("order_by", list_of(ORDERS[kind.name]), "In this order, then by id."),
        *short,
        ("first", int, "How many at most; 100 if not said."),
        ("after", str, "Cursor to go on after."),
        ("last", int, "How many at most, from the end."),
        ("before", str, "Cursor to stop before."),
    )
    field.arguments = [
        StrawberryArgument(name, None, StrawberryAnnotation(type_ | None), description=text, default=None)
        for name, type_, text in offered
    ]
    return field


_SHORT: Final = (
    ("subject", str, "Only about this."),
    ("attribute", str, "Only this number."),
    ("disputed", bool, "Only disputed ones, or only others."),
)


def made(kind: str, row: Any) -> Any:
    """The object of a row."""
    return TYPES[kind](kind=KINDS[kind], row=row)


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


_PAGED = [kind for kind in KINDS.values() if kind.block or kind.name == "fact"]
FILTERS = {kind.name: _filter_of(kind) for kind in _PAGED}
ORDERS = {kind.name: _order_of(kind) for kind in _PAGED}
TYPES = {kind.name: _type(kind) for kind in KINDS.values()}
globals().update({kind.type: TYPES[kind.name] for kind in KINDS.values()})
Context.made = staticmethod(made)
