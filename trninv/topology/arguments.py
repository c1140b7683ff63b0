"""What a function is called with, read from a TOML table: the function's signature says what the table may hold."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any, get_args, get_origin

from trninv.errors import CatalogError


def arguments(function: Callable[..., object], given: Mapping[str, object], *, least: int = 0) -> dict[str, Any]:
    """Arguments by name, lists as tuples.

    Parameters
    ----------
    function
        Its parameters are annotated with int, str, bool, object, and tuples and mappings of these.
    least
        The least whole number taken.

    Raises
    ------
    CatalogError
        The table lacks a parameter, has one that is not known, or one of another type.

    """
    wanted = inspect.signature(function, eval_str=True).parameters
    takes = f"it takes {', '.join(wanted)}" if wanted else "it takes none"
    if unknown := sorted(given.keys() - wanted.keys()):
        raise CatalogError(f"{unknown[0]!r} is not known: {takes}")
    if missing := [name for name, of in wanted.items() if of.default is of.empty and name not in given]:
        raise CatalogError(f"{missing[0]!r} is missing: {takes}")
    return {name: _read(name, value, wanted[name].annotation, least) for name, value in given.items()}


def _read(name: str, value: object, kind: Any, least: int) -> Any:  # noqa: ANN401 # a type, and a value of it
    inside = get_args(kind)
    if get_origin(kind) is tuple and isinstance(value, list):
        return tuple(_read(name, each, inside[0], least) for each in value)
    if inside and get_origin(kind) is not tuple and isinstance(value, dict):
        return {key: _read(f"{name}.{key}", each, inside[1], least) for key, each in value.items()}
    too_small = isinstance(value, int) and kind is int and value < least
    if kind is object or (type(value) is kind and not too_small):
        return value
    raise CatalogError(f"{name} = {value!r} is not {_words(kind, least)}")


def _words(kind: Any, least: int) -> str:  # noqa: ANN401 # a type
    if get_args(kind):
        return "a list" if get_origin(kind) is tuple else "a table"
    return {int: f"a whole number from {least} on", str: "text", bool: "true or false"}[kind]
