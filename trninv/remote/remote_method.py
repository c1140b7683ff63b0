"""Describe the methods of a fleet that can be called over HTTP: its questions, changes and readings.

Names, scopes and types come from the declarations, so that a new question needs no line here. A change without a
mutation, such as the creation of a token, can't be made over HTTP.
"""

import ast
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, Final, Union

from trninv.enumeration import DescribedEnum
from trninv.inventory.change import Change
from trninv.inventory.parameter import Parameter, TimeOrEvent
from trninv.placement import changes
from trninv.placement import questions as placement_questions
from trninv.placement.placement_fleet import Fleet
from trninv.routing import questions as routing_questions
from trninv.routing.question import Question
from trninv.routing.question_methods import is_reading
from trninv.units import Quantity

READ: Final = "read"
JOB_SCOPE: Final = "operate"
"""The scope that a question needs which the service runs as a job."""


@dataclass(frozen=True)
class RemoteMethod:
    """A method of a fleet as it is called over HTTP.

    Attributes
    ----------
    scope
        The scope that a token needs.
    argument_types
        Types of the arguments by name; those of JSON, such as text for an address or a quantity.
    required
        Names of the arguments without a default; not those of a change's author, which the service knows.
    result_type
        Type of what it returns.
    declaration
        The declared question or change; None for a reading.

    """

    name: str
    scope: str
    argument_types: Mapping[str, Any]
    required: frozenset[str]
    result_type: Any
    declaration: Question | Change[..., Any] | None = None

    @property
    def is_change(self) -> bool:
        """Whether it changes the inventory."""
        return isinstance(self.declaration, Change)


@cache
def find_method(name: str) -> RemoteMethod | None:
    """Return the method of a name, or None if there is none that can be called over HTTP."""
    if name in routing_questions.question_names():
        return _question(routing_questions.find(name))
    if name in placement_questions.NAMES:
        return _question(placement_questions.find(name))
    if name in changes.NAMES:
        change = changes.find(name)
        return _change(change) if change.field else None
    return _reading(readings()[name]) if name in readings() else None


@cache
def readings() -> Mapping[str, Callable[..., Any]]:
    """Return the readings of a fleet by name."""
    return {name: method for name, method in inspect.getmembers(Fleet) if is_reading(method)}


def remote_names() -> Iterator[str]:
    """Yield the names of all methods that can be called over HTTP."""
    names = *routing_questions.question_names(), *placement_questions.NAMES, *changes.NAMES, *readings()
    return (name for name in names if find_method(name))


def _question(question: Question) -> RemoteMethod:
    scope = JOB_SCOPE if question.job_mutation else READ
    return RemoteMethod(
        question.name, scope, _declared_types(question), _required(question), question.answer_type, question
    )


def _change(change: Change[..., Any]) -> RemoteMethod:
    author = {name: str | None for name in ("who", "why") if name in change.signature.parameters}
    types = {**_declared_types(change), **author, "dry_run": bool}
    return RemoteMethod(change.name, change.scope, types, _required(change), change.signature.return_annotation, change)


def _required(declaration: Question | Change[..., Any]) -> frozenset[str]:
    return frozenset(parameter.name for parameter in declaration.parameters if parameter.is_required)


def _declared_types(declaration: Question | Change[..., Any]) -> dict[str, Any]:
    return {parameter.name: _json_type(parameter) for parameter in declaration.parameters}


def _json_type(parameter: Parameter) -> Any:
    value_type, item_type = parameter.value_type, parameter.item_type
    json_type: Any = value_type
    if value_type is tuple:
        json_type = tuple.__class_getitem__((item_type, ...))
    elif issubclass(value_type, TimeOrEvent):
        json_type = Union[str, int]  # noqa: UP007 # built at run time
    elif issubclass(value_type, Quantity):
        json_type = Union[int, str]  # noqa: UP007 # as above
    elif issubclass(value_type, str | DescribedEnum):
        json_type = str
    return json_type | None if parameter.is_optional else json_type


def _reading(method: Callable[..., Any]) -> RemoteMethod:
    signature = inspect.signature(method)
    _, *parameters = signature.parameters.values()
    types = {parameter.name: _evaluate(method, parameter.annotation) for parameter in parameters}
    required = frozenset(parameter.name for parameter in parameters if parameter.default is parameter.empty)
    return RemoteMethod(method.__name__, READ, types, required, _evaluate(method, signature.return_annotation))


def _evaluate(method: Callable[..., Any], annotation: Any) -> Any:
    """Return the type that an annotation names, which may be imported for type checkers only."""
    if not isinstance(annotation, str):
        return annotation
    module = sys.modules[method.__module__]
    names = dict(vars(module))
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                if alias.name in annotation and alias.name not in names:
                    names[alias.name] = getattr(import_module(node.module), alias.name)
    return eval(annotation, names)  # noqa: S307 # an annotation of our own
