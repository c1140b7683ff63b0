"""Generate GraphQL enums from stored enumerations: a member's name is its value in upper case, with _ for -."""

from collections.abc import Callable
from enum import Enum
from functools import cache
from typing import Any, Final

import strawberry

from trninv.inventory.schema.enumerations import (
    BINDING_ENDING,
    BINDING_HOW,
    CONFIDENCE,
    DIFFERENCE,
    RULE,
    SEVERITY,
    STATE,
    TOKEN_SCOPE,
)
from trninv.inventory.schema.thing import Enumeration

_create_enum: Final[Callable[..., Any]] = Enum


@cache
def stored_enum(enumeration: Enumeration) -> type[Enum]:
    """Return the GraphQL enum of a stored enumeration; members have the stored values."""
    values = {
        stored.upper().replace("-", "_"): strawberry.enum_value(stored, description=meaning)
        for stored, meaning in enumeration.meanings().items()
    }
    generated: type[Enum] = _create_enum(enumeration.name, values, module=__name__)
    return strawberry.enum(generated, name=enumeration.name, description=enumeration.description)


BindingEnding: Final = stored_enum(BINDING_ENDING)
BindingMethod: Final = stored_enum(BINDING_HOW)
Confidence: Final = stored_enum(CONFIDENCE)
Disagreement: Final = stored_enum(DIFFERENCE)
DriftRule: Final = stored_enum(RULE)
Severity: Final = stored_enum(SEVERITY)
State: Final = stored_enum(STATE)
TokenScope: Final = stored_enum(TOKEN_SCOPE)
