"""Generate GraphQL enums from the enumerations that the database stores.

A member's name is the stored value in upper case, with _ for -.
"""

from collections.abc import Callable, Mapping
from enum import Enum
from functools import cache
from typing import Any, Final

import strawberry

from trninv.enumeration import DescribedEnum
from trninv.inventory.schema.enumerations import (
    DIFFERENCE,
    SEVERITY,
    STATE,
    TOKEN_SCOPE,
)
from trninv.inventory.schema.thing import Enumeration

_create_enum: Final[Callable[..., Any]] = Enum  # mypy accepts no computed members otherwise


@cache
def enum_type(choice_class: type[DescribedEnum]) -> Any:
    """Return the GraphQL enum of a class that declares choices with their descriptions."""
    generated: Any = strawberry.enum(choice_class, description=first_paragraph(choice_class.__doc__))
    for value in generated.__strawberry_definition__.values:
        value.description = choice_class[value.name].description
    return generated


def first_paragraph(doc: str | None) -> str:
    """Return the first paragraph of a docstring on one line."""
    return " ".join((doc or "").partition("\n\n")[0].split())


@cache
def stored_enum(enumeration: Enumeration) -> type[Enum]:
    """Return the GraphQL enum of an enumeration; members have the stored values."""
    if enumeration.choices:
        return enum_type(enumeration.choices)  # type: ignore[no-any-return] # a class
    members = {
        stored.upper().replace("-", "_"): strawberry.enum_value(stored, description=meaning)
        for stored, meaning in enumeration.meanings().items()
    }
    generated: type[Enum] = _create_enum(enumeration.name, members, module=__name__)
    return strawberry.enum(generated, name=enumeration.name, description=enumeration.description)


def parameter_enum(meanings: Mapping[str, str]) -> type[Enum]:
    """Return the GraphQL enum (State or TokenScope) whose mapping of values to meanings a parameter declares."""
    return next(stored_enum(enumeration) for enumeration in (STATE, TOKEN_SCOPE) if enumeration.meanings() is meanings)


Disagreement: Final = stored_enum(DIFFERENCE)
Severity: Final = stored_enum(SEVERITY)
State: Final = stored_enum(STATE)
TokenScope: Final = stored_enum(TOKEN_SCOPE)


@strawberry.enum(description="Sort direction.")
class Direction(Enum):
    ASC = strawberry.enum_value("ASC", description="Ascending: lowest or alphabetically first comes first.")
    DESC = strawberry.enum_value("DESC", description="Descending: highest or alphabetically last comes first.")
