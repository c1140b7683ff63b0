"""Mark methods of a fleet that list or read, beside its questions and changes.

A fleet of a service (`trninv.remote`) has each of them too. The types of the parameters and of the result say how they
are sent.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])


def reading(method: F) -> F:
    """Let `call_reading` of the fleet run a method."""

    @wraps(method)
    def read(fleet: Any, *arguments: Any, **keywords: Any) -> Any:  # Any: a fleet, and what the method takes
        return fleet.call_reading(method, *arguments, **keywords)

    read.is_reading = True  # type: ignore[attr-defined] # `is_reading` reads it
    return cast("F", read)


def is_reading(method: object) -> bool:
    """Return whether a method is marked as a reading."""
    return getattr(method, "is_reading", False)
