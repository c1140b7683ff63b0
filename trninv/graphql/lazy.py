"""Types of the table of fields, named before they are made."""

from types import GenericAlias
from typing import Annotated, Any

import strawberry


def lazy(name: str) -> Any:  # noqa: ANN401 # the type checker has no word for a type made at run time
    return Annotated[name, strawberry.lazy("trninv.graphql.types")]


def lazy_list(name: str) -> GenericAlias:
    return list_of(lazy(name))


def list_of(of: object) -> GenericAlias:
    return GenericAlias(list, (of,))
