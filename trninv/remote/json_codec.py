"""Encode values of declared types as JSON, and decode JSON by type.

Both ends of a call know the declared type, so that JSON carries no names of classes: an answer decodes to the same
frozen value that it was, with exact integers. Members that a class does not have are ignored and those with a default
may be missing, so that releases with more or fewer fields understand each other.
"""

import dataclasses
import inspect
import sys
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from enum import Enum
from fractions import Fraction
from functools import cache
from math import isfinite
from types import NoneType, SimpleNamespace, UnionType
from typing import Any, Final, Self, Union, get_args, get_origin

from trninv.routing.answer import strip_annotations
from trninv.routing.tabular import RowList

Json = Any


class TypeMismatchError(ValueError):
    """JSON that does not have the declared type."""


def encode(value: Any) -> Json:  # Any: a value of any declared type
    """Return a value as JSON values."""
    if _is_graph(type(value)):
        return {"nodes": list(value.nodes(data=True)), "edges": list(value.edges(data=True))}
    if dataclasses.is_dataclass(value):
        return {field.name: encode(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return [[encode(key), encode(item)] for key, item in value.items()]
    if isinstance(value, Iterable) and not isinstance(value, str):
        return [encode(item) for item in value]
    return next((convert(value) for kind, convert in _ENCODERS.items() if isinstance(value, kind)), value)


_ENCODERS: Final[Mapping[type, Callable[[Any], Json]]] = {
    Enum: lambda value: value.name,
    bool: bool,
    int: int,  # a quantity is an int
    float: lambda value: float(value) if isfinite(value) else str(value),
    datetime: datetime.isoformat,
    Fraction: str,
}


def decode(value: Json, hint: Any, owner: Any = None) -> Any:  # Any: a type, and a value of it
    """Return the value of a type that JSON values stand for; `owner` is the class that ``Self`` means.

    Raises
    ------
    TypeMismatchError
        They stand for no value of the type.

    """
    bare_type, _ = strip_annotations(hint)
    if bare_type is Self:
        bare_type = owner
    origin, arguments = get_origin(bare_type), get_args(bare_type)
    if origin in (Union, UnionType):
        return _decode_union(value, arguments, owner)
    if origin in (dict, Mapping):
        return dict(_decode_items(value, (tuple.__class_getitem__(arguments), ...), owner))
    if isinstance(origin, type) and issubclass(origin, Iterable):
        items = _decode_items(value, arguments if origin is tuple else (*arguments, ...), owner)
        if origin is RowList:
            return RowList(items, arguments[0])
        return origin(items) if origin in (list, frozenset) else tuple(items)
    if bare_type in _SCALARS:
        return _SCALARS[bare_type](value)
    return _decode_object(value, bare_type)


def _decode_union(value: Json, members: Iterable[Any], owner: Any) -> Any:
    mismatches = []
    for member in sorted(members, key=lambda one: one is not NoneType):
        try:
            return decode(value, member, owner)
        except TypeMismatchError as mismatch:
            mismatches.append(mismatch)
    raise mismatches[-1]


def _decode_items(value: Json, items: tuple[Any, ...], owner: Any) -> list[Any]:
    if not isinstance(value, list):
        raise _mismatch(value, "a list")
    item_types = [items[0]] * len(value) if items[1:] == (...,) else items
    if len(item_types) != len(value):
        raise TypeMismatchError(f"expected {len(item_types)} items, not {len(value)}")
    return [decode(item, item_type, owner) for item, item_type in zip(value, item_types, strict=True)]


def _decode_object(value: Json, owner: Any) -> Any:
    if issubclass(owner, Enum):
        if not isinstance(value, str) or value not in owner.__members__:
            raise _mismatch(value, f"one of {', '.join(owner.__members__)}")
        return owner[value]
    if issubclass(owner, int):  # a quantity
        return owner(_decode_int(value))
    if not isinstance(value, dict):
        raise _mismatch(value, f"an object with the fields of {owner.__name__}")
    if _is_graph(owner):
        return _decode_graph(value)
    members = dict[str, Any]()
    for name, (hint, is_required) in _members(owner).items():
        if name in value:
            try:
                members[name] = decode(value[name], hint, owner)
            except TypeMismatchError as mismatch:
                raise TypeMismatchError(f"{owner.__name__}.{name}: {mismatch}") from None
        elif is_required:
            raise TypeMismatchError(f"{owner.__name__}.{name} is missing")
    build: Any = owner if dataclasses.is_dataclass(owner) else SimpleNamespace
    return build(**members)


@cache
def _members(owner: Any) -> Mapping[str, tuple[Any, bool]]:
    """Return the types of a dataclass's fields, or of a protocol's properties, and whether each is required."""
    if dataclasses.is_dataclass(owner):
        missing = dataclasses.MISSING
        return {
            field.name: (field.type, field.default is missing and field.default_factory is missing)
            for field in dataclasses.fields(owner)
        }
    properties = inspect.getmembers(owner, lambda member: isinstance(member, property))
    return {name: (inspect.signature(member.fget).return_annotation, True) for name, member in properties}


def _is_graph(kind: type) -> bool:
    """Return whether a class is that of graphs, without importing networkx, which is slow."""
    networkx = sys.modules.get("networkx")
    return networkx is not None and issubclass(kind, networkx.Graph)


def _decode_graph(value: Mapping[str, Json]) -> Any:
    """Return a graph of `Fleet.graph`; a node's position is a tuple."""
    from trninv.solvers.graph import Graph  # noqa: PLC0415 # as above

    attributes = dict[str, Any]
    graph = Graph()
    for name, node in _decode_items(value.get("nodes"), (tuple[str, Any], ...), None):
        position = node.get("position")
        graph.add_node(name, **attributes(node, position=position and tuple(position)))
    graph.add_edges_from(_decode_items(value.get("edges"), (tuple[str, str, Any], ...), None))
    return graph


def _mismatch(value: Json, expected: str) -> TypeMismatchError:
    return TypeMismatchError(f"expected {expected}, not {str(value)[:40]!r}")


def _decode_int(value: Json) -> int:
    if type(value) is not int:
        raise _mismatch(value, "an integer")
    return value


def _decode_float(value: Json) -> float:
    if type(value) in (int, float) or value in ("inf", "-inf", "nan"):
        return float(value)
    raise _mismatch(value, "a number")


def _decode_text(parse: Callable[[str], Any], expected: str) -> Callable[[Json], Any]:
    def decode_text(value: Json) -> Any:
        try:
            if isinstance(value, str):
                return parse(value)
        except (ValueError, ZeroDivisionError):
            pass
        raise _mismatch(value, expected)

    return decode_text


def _decode_bool(value: Json) -> bool:
    if not isinstance(value, bool):
        raise _mismatch(value, "true or false")
    return value


def _decode_null(value: Json) -> None:
    if value is not None:
        raise _mismatch(value, "null")


_SCALARS: Final[Mapping[Any, Callable[[Json], Any]]] = {
    Any: lambda value: value,
    str: _decode_text(str, "text"),
    int: _decode_int,
    float: _decode_float,
    bool: _decode_bool,
    NoneType: _decode_null,
    datetime: _decode_text(datetime.fromisoformat, "a time"),
    Fraction: _decode_text(Fraction, "a fraction"),
}
