"""Write the types of a fleet's methods from the declarations of questions and changes.

python tests/fleet_stub.py
"""

import inspect
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, get_args

from trninv.enumeration import DescribedEnum
from trninv.inventory.change import Change
from trninv.inventory.parameter import Parameter, TimeOrEvent
from trninv.placement import questions as placement_questions
from trninv.placement.changes import all_changes
from trninv.remote.remote_method import RemoteMethod, find_method, readings, remote_names
from trninv.routing import questions as routing_questions
from trninv.routing.question import Question
from trninv.units import Quantity

_PACKAGE = Path(__file__).parents[1] / "trninv"
Declaration = Question | Change[..., Any] | RemoteMethod
"""A declared question or change, or a reading."""
STUBS: dict[Path, tuple[str, Iterable[Declaration], str]] = {
    _PACKAGE / "routing/routing_methods.pyi": ("RoutingMethods", routing_questions.all_questions(), "def"),
    _PACKAGE / "placement/placement_methods.pyi": ("PlacementMethods", placement_questions.all_questions(), "def"),
    _PACKAGE / "placement/change_methods.pyi": ("ChangeMethods", all_changes(), "def"),
    _PACKAGE / "remote/async_methods.pyi": (
        "AsyncMethods",
        [method.declaration or method for method in filter(None, map(find_method, remote_names()))],
        "async def",
    ),
}
_HEADER = "# Written by `python tests/fleet_stub.py` from the declarations; edit those, not this file.\n"
_IMPORTS = {
    "collections.abc": ("Callable", "Iterable", "Sequence"),
    "concurrent.futures": ("Executor",),
    "datetime": ("datetime",),
    "pathlib": ("Path",),
    "trninv.history.point_in_time": ("Time",),
    "trninv.solvers.graph": ("Graph",),
}
"""Names that types may use, by module."""


def render(name: str, declarations: Iterable[Declaration], keyword: str) -> str:
    """Return the stub of a class of methods, which a keyword begins."""
    declarations = list(declarations)
    methods = [line for declaration in declarations for line in _method(declaration, keyword)]
    results = defaultdict[str, tuple[str, ...]](tuple)
    for declaration in declarations:
        if isinstance(declaration, RemoteMethod):
            items = [item for kind in declaration.argument_types.values() for item in _classes(kind)]
        else:
            items = [one.item_type for one in declaration.parameters if not issubclass(one.item_type, str | int)]
        for used_class in (*_classes(_result(declaration)), *items):
            results[used_class.__module__] += (used_class.__name__,)
    words = set(re.findall(r"\w+", "\n".join(methods)))
    used = {module: sorted(words.intersection(names)) for module, names in (_IMPORTS | results).items()}
    imports = sorted(f"from {module} import {', '.join(names)}" for module, names in used.items() if names)
    standard = [line for line in imports if " trninv." not in line]
    ours = [line for line in imports if line not in standard]
    return "\n".join([_HEADER, *standard, "", *ours, "", f"class {name}:", *methods, ""])


def _parameters(declaration: Declaration) -> Iterable[inspect.Parameter]:
    if isinstance(declaration, Question):
        return declaration.signature.parameters.values()
    if isinstance(declaration, Change):
        return declaration.method_parameters
    parameters = inspect.signature(readings()[declaration.name]).parameters.values()
    types = declaration.argument_types
    return [one.replace(annotation=types[one.name]) for one in parameters if one.name in types]


def _result(declaration: Declaration) -> Any:
    """Return the type of what the method returns."""
    if isinstance(declaration, RemoteMethod):
        return declaration.result_type
    return declaration.signature.return_annotation


def _classes(result: Any) -> list[type]:
    """Return the classes of this project in a type."""
    return [one for one in (result, *get_args(result)) if getattr(one, "__module__", "").startswith("trninv.")]


def _method(declaration: Declaration, keyword: str) -> Iterator[str]:
    yield f"    {keyword} {declaration.name}("
    yield "        self,"
    marked = False
    parameters = () if isinstance(declaration, RemoteMethod) else declaration.parameters
    declared = {parameter.name: parameter for parameter in parameters}
    for parameter in _parameters(declaration):
        is_flag = parameter.name in declared and declared[parameter.name].value_type is bool
        if not marked and (parameter.kind is parameter.KEYWORD_ONLY or is_flag):
            marked = True
            yield "        *,"
        text = _type(declared[parameter.name]) if parameter.name in declared else _extra_type(parameter)
        yield f"        {parameter.name}: {text}{'' if parameter.default is parameter.empty else ' = ...'},"
    yield f"    ) -> {_without_modules(inspect.formatannotation(_result(declaration)))}: ..."


def _type(parameter: Parameter) -> str:
    if parameter.value_type is tuple:
        return (
            "Sequence[str] | str"
            if issubclass(parameter.item_type, str)
            else f"Sequence[{parameter.item_type.__name__}]"
        )
    if parameter.value_type is TimeOrEvent:
        text = "Time"
    elif issubclass(parameter.value_type, Quantity):
        text = "int | str"
    elif issubclass(parameter.value_type, str | DescribedEnum):
        text = "str"
    else:
        text = parameter.value_type.__name__
    return f"{text} | None" if parameter.is_optional else text


def _extra_type(parameter: inspect.Parameter) -> str:
    """Return the type of a parameter that exists in Python only."""
    return _without_modules(inspect.formatannotation(parameter.annotation)).strip("'")


def _without_modules(text: str) -> str:
    return re.sub(r"\w+\.(?=[a-zA-Z])", "", text)


if __name__ == "__main__":
    for path, stub in STUBS.items():
        path.write_text(render(*stub))
