"""Give a fleet one method for each declared question, and mark those that read anything else.

`RoutingMethods` and the fleet of placement use it. Type checkers read the methods from stub files (``.pyi``), which
`tests/fleet_stub.py` writes from the declarations.
"""

import inspect
from collections.abc import Callable, Iterable
from functools import cached_property, wraps
from types import MethodType
from typing import Any, TypeVar, cast

from trninv.inventory.change import Change
from trninv.inventory.parameter import Parameter
from trninv.routing.question import Question


class DeclaredMethod:
    """A descriptor that makes the method of a question or change on first use, importing the declaration then."""

    def __init__(self, make_method: Callable[[], Callable[..., Any]]) -> None:
        self._make_method = make_method

    @cached_property
    def _method(self) -> Callable[..., Any]:
        return self._make_method()

    def __get__(self, fleet: Any, _: type | None = None) -> Callable[..., Any]:  # Any: a fleet, or None
        """Return the method, bound to the fleet unless it is looked up on the class."""
        return self._method if fleet is None else MethodType(self._method, fleet)


F = TypeVar("F", bound=Callable[..., Any])


def reading(method: F) -> F:
    """Mark a method of a fleet that lists or reads; `call_reading` of the fleet runs it.

    A fleet of a service (`trninv.remote`) has such methods too; the types of their parameters and results say
    how these are sent.
    """

    @wraps(method)
    def read(fleet: Any, *arguments: Any, **keywords: Any) -> Any:  # Any: a fleet, and what the method takes
        return fleet.call_reading(method, *arguments, **keywords)

    read.is_reading = True  # type: ignore[attr-defined] # `is_reading` reads it
    return cast("F", read)


def is_reading(method: object) -> bool:
    """Return whether a method is marked as a reading."""
    return getattr(method, "is_reading", False)


def question_method(find: Callable[[str], Question], name: str) -> DeclaredMethod:
    """Return the method that asks a fleet the question of a name, which ``find`` looks up."""

    def make_method() -> Callable[..., Any]:
        question = find(name)

        def ask(fleet: Any, *arguments: Any, **keywords: Any) -> Any:
            return fleet.ask(question, *arguments, **keywords)

        return document_method(ask, question, question.signature.parameters.values())

    return DeclaredMethod(make_method)


def document_method(
    method: Callable[..., Any], declaration: Question | Change[..., Any], parameters: Iterable[inspect.Parameter]
) -> Callable[..., Any]:
    """Give a method the name, docstring and signature of its declaration, and return it."""
    method.__name__ = declaration.name
    method.__doc__ = describe(declaration)
    self_parameter = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    signature = declaration.signature.replace(parameters=[self_parameter, *parameters])
    method.__signature__ = signature  # type: ignore[attr-defined] # inspect reads it
    return method


def describe(declaration: Question | Change[..., Any]) -> str:
    """Return the docstring of a question's or change's method."""
    parameters = (f"{parameter.name}\n    {_meaning(parameter)}" for parameter in declaration.parameters)
    return "\n".join([f"{declaration.description}\n", "Parameters", "----------", *parameters])


def _meaning(parameter: Parameter) -> str:
    """Return a parameter's description and its possible values."""
    choices = ", ".join(f'"{choice.name.lower()}"' for choice in parameter.choices)
    return f"{parameter.description} One of {choices}." if choices else parameter.description
