"""Types of the table of fields, named before they are made."""

from types import GenericAlias
from typing import Annotated, Any

import strawberry


def lazy(name: str) -> Any:
    return Annotated[name, strawberry.lazy("trninv.graphql.things")]


def lazy_list(name: str) -> GenericAlias:
    return list_of(lazy(name))


def list_of(of: object) -> GenericAlias:
    return GenericAlias(list, (of,))
