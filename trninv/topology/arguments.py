"""Bind the values of a TOML table to a function's parameters, whose annotations say what is allowed."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any, get_args, get_origin

from trninv.errors import CatalogError


def bind_arguments(
    function: Callable[..., object], values: Mapping[str, object], *, minimum: int = 0
) -> dict[str, Any]:
    """Return the arguments for a function by name, with lists converted to tuples.

    Parameters
    ----------
    function
        Its parameters are annotated with int, str, bool, object, and tuples and mappings of these.
    minimum
        The smallest integer allowed.

    Raises
    ------
    CatalogError
        The table lacks a parameter, has an unknown one, or one of another type.
    """
    parameters = inspect.signature(function, eval_str=True).parameters
    accepted = f"it takes {', '.join(parameters)}" if parameters else "it takes none"
    if unknown := sorted(values.keys() - parameters.keys()):
        raise CatalogError(f"{unknown[0]!r} is not known: {accepted}")
    if missing := [
        name for name, parameter in parameters.items() if parameter.default is parameter.empty and name not in values
    ]:
        raise CatalogError(f"{missing[0]!r} is missing: {accepted}")
    return {name: _convert(name, value, parameters[name].annotation, minimum) for name, value in values.items()}


def _convert(name: str, value: object, annotation: Any, minimum: int) -> Any:  # a type, and a value of it
    item_types = get_args(annotation)
    if get_origin(annotation) is tuple and isinstance(value, list):
        return tuple(_convert(name, item, item_types[0], minimum) for item in value)
    if item_types and get_origin(annotation) is not tuple and isinstance(value, dict):
        return {key: _convert(f"{name}.{key}", item, item_types[1], minimum) for key, item in value.items()}
    too_small = isinstance(value, int) and annotation is int and value < minimum
    if annotation is object or (type(value) is annotation and not too_small):
        return value
    raise CatalogError(f"{name} = {value!r} is not {_describe_type(annotation, minimum)}")


def _describe_type(annotation: Any, minimum: int) -> str:  # a type
    if get_args(annotation):
        return "a list" if get_origin(annotation) is tuple else "a table"
    return {int: f"a whole number from {minimum} on", str: "text", bool: "true or false"}[annotation]
