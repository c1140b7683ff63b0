"""Types of the routing answers, made from their classes in trninv.routing; their fields are read from frozen values."""

from collections.abc import Sequence
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Self, Union, get_args, get_origin

import strawberry
from sqlalchemy import Connection

from trninv import units
from trninv.choice import Choice
from trninv.graphql.context import AppInfo, Below
from trninv.graphql.lazy import lazy, list_of
from trninv.graphql.pages import paged
from trninv.graphql.scalars import Address, Bandwidth, BigInt, Capacity, Duration
from trninv.graphql.things import listed, made
from trninv.inventory.binding import standing_at
from trninv.inventory.kinds import KINDS
from trninv.routing import servers
from trninv.routing.answer import Answer, CitedFact, Form, LinkRef, size_of
from trninv.routing.shown import Shown, shown, unannotated

_SCALARS: Final[dict[type, Any]] = {
    str: str,
    int: int,
    float: float,
    bool: bool,
    units.Bandwidth: Bandwidth,
    units.Capacity: Capacity,
    units.Duration: Duration,
}
_FORMS: Final = {Form.ADDRESS: Address, Form.EXACT: BigInt}
_ROWS: Final = {LinkRef: "link", CitedFact: "fact"}
"""What stands for a row of the inventory, and the row's kind."""


@cache
def object_type(of: type) -> Any:
    """The type of a class of frozen values."""
    namespace: dict[str, Any] = {"__module__": __name__, "__annotations__": {}}
    for each in shown(of):
        namespace[each.name] = _field(of, each)
    if issubclass(of, Answer):
        namespace["standing"] = strawberry.field(
            resolver=_standing,
            description=f"Instances and hosts in the servers that are named, the first {servers.MOST_STANDING}.",
            graphql_type=list_of(object_type(servers.StandingThere)),
            metadata={"held": "standing", "stands": True},
        )
    made_type = strawberry.type(description=_first(of.__doc__))(type(of.__name__, (), namespace))
    globals()[of.__name__] = made_type  # a type that leads to itself is looked up here
    return made_type


async def _standing(parent: strawberry.Parent[Any], info: AppInfo) -> Any:
    """Only where it is asked for: an answer itself is remembered, and does not change with what stands there."""

    def read(connection: Connection) -> list[servers.StandingThere]:
        return [servers.StandingThere(*row) for row in standing_at(connection, servers.servers_of(parent))]

    return await info.context.read(read)


@cache
def word_type(of: type[Choice]) -> Any:
    """The enumeration of some words."""
    found: Any = strawberry.enum(of, description=_first(of.__doc__))
    for value in found.__strawberry_definition__.values:
        value.description = of[value.name].says
    return found


def _first(doc: str | None) -> str:
    """The first paragraph of a docstring."""
    return " ".join((doc or "").partition("\n\n")[0].split())


def _field(owner: type, of: Shown) -> Any:
    item = _item(of.hint)
    if item in _ROWS:
        return _rows(of, _ROWS[item])
    if Form.PAGED in of.forms:
        return paged(Address, of.says, lambda parent, *_: getattr(parent, of.name), cursor=str)

    def resolve(parent: strawberry.Parent[Any]) -> Any:
        return getattr(parent, of.name)

    kind, held = _type(owner, of.hint, of.forms), {"held": of.name}
    return strawberry.field(resolver=resolve, description=of.says, graphql_type=kind, metadata=held)


def _rows(of: Shown, kind: str) -> Any:
    """A field of what is a row of the inventory, or of several."""
    if Form.PAGED in of.forms:
        return listed(KINDS[kind], lambda info, parent: _below(info, kind, parent, of.name), of.says)

    async def every(parent: strawberry.Parent[Any], info: AppInfo) -> Any:
        value = getattr(parent, of.name)
        found = [made(kind, await info.context.row(kind, each.id)) for each in _listed(value)]
        return found if isinstance(value, tuple) else found[0]

    single = lazy(KINDS[kind].type)
    several = get_origin(of.hint) is tuple
    return strawberry.field(resolver=every, description=of.says, graphql_type=list_of(single) if several else single)


def _below(info: AppInfo, kind: str, parent: Any, name: str) -> Below:
    ids = sorted(each.id for each in getattr(parent, name))
    return Below(info.context, KINDS[kind], tuple(ids), size=size_of(parent, name))


def _listed(value: Any) -> Sequence[Any]:
    return value if isinstance(value, tuple) else (value,)


def _item(hint: Any) -> Any:
    """What a tuple is of, or the type itself."""
    return unannotated(get_args(hint)[0])[0] if get_origin(hint) is tuple else hint


def _type(owner: type, hint: Any, forms: frozenset[Any] = frozenset()) -> Any:
    """The type of the schema for the type of a frozen value's field."""
    bare, notes = unannotated(hint)
    if form := next((_FORMS[each] for each in {*forms, *notes} if each in _FORMS), None):
        return form
    if get_origin(bare) in (Union, UnionType):
        return next(_type(owner, each) for each in get_args(bare) if each is not NoneType) | None
    if get_origin(bare) is tuple:
        return list_of(_type(owner, get_args(bare)[0]))
    if bare is Self:
        return Annotated[owner.__name__, strawberry.lazy(__name__)]
    if issubclass(bare, Choice):
        return word_type(bare)
    return _SCALARS.get(bare) or object_type(bare)
