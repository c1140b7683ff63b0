"""Types of the table of fields, named before they are made."""

from types import GenericAlias
from typing import Annotated, Any

import strawberry


def lazy_type(name: str) -> Any:
    """A type of the inventory by its name."""
    return Annotated[name, strawberry.lazy("trninv.graphql.things")]


def lazy_list(name: str) -> GenericAlias:
    """A list of such a type."""
    return list_type(lazy_type(name))


def list_type(item_type: object) -> GenericAlias:
    """A list of any type."""
    return GenericAlias(list, (item_type,))
