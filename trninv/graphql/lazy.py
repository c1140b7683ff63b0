"""Refer to the inventory's GraphQL types before they are generated."""

from types import GenericAlias
from typing import Annotated, Any

import strawberry


def lazy_type(name: str) -> Any:
    """Return a lazy reference to an inventory type."""
    return Annotated[name, strawberry.lazy("trninv.graphql.things")]


def lazy_list(name: str) -> GenericAlias:
    """Return a list type of a lazy reference."""
    return list_type(lazy_type(name))


def list_type(item_type: object) -> GenericAlias:
    """Return a list type."""
    return GenericAlias(list, (item_type,))
