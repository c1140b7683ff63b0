"""Types of the table of fields, named before they are made."""

from typing import Annotated, Any

import strawberry


def lazy(name: str) -> Any:
    return Annotated.__class_getitem__((name, strawberry.lazy("trninv.graphql.things")))  # type: ignore[attr-defined]


def lazy_list(name: str) -> Any:
    return list_of(lazy(name))


def list_of(of: Any) -> Any:
    return list.__class_getitem__(of)
