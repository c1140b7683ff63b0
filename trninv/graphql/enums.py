"""GraphQL enums of the inventory's enumerations: a value's name is the stored value in upper case, with _ for -."""

from collections.abc import Callable
from enum import Enum
from functools import cache
from typing import Any, Final

import strawberry

from trninv.inventory.enumerations import (
    BINDING_ENDING,
    BINDING_HOW,
    CONFIDENCE,
    DIFFERENCE,
    RULE,
    SEVERITY,
    STATE,
    TOKEN_SCOPE,
)
from trninv.inventory.fields import Enumeration

_named: Final[Callable[..., Any]] = Enum


@cache
def enum_of(enumeration: Enumeration) -> type[Enum]:
    """The enum of an enumeration; a member's value is the stored one."""
    values = {
        stored.upper().replace("-", "_"): strawberry.enum_value(stored, description=meaning)
        for stored, meaning in enumeration.meanings().items()
    }
    made: type[Enum] = _named(enumeration.name, values, module=__name__)
    return strawberry.enum(made, name=enumeration.name, description=enumeration.says)


BindingEnding: Final = enum_of(BINDING_ENDING)
BindingHow: Final = enum_of(BINDING_HOW)
Confidence: Final = enum_of(CONFIDENCE)
Disagreement: Final = enum_of(DIFFERENCE)
DriftRule: Final = enum_of(RULE)
Severity: Final = enum_of(SEVERITY)
State: Final = enum_of(STATE)
TokenScope: Final = enum_of(TOKEN_SCOPE)
