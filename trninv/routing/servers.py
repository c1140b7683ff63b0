"""The servers that an answer names: itself, what is in them, or an end of a link there."""

import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass

from trninv.routing.answer import Answer

_SERVER = re.compile(r"([^\s/]+/d\d+/s\d+)(?:/\S*)?")
_LEFT_OUT = {"facts", "baseline"}


def servers_of(answer: Answer, most: int) -> list[str]:
    """Addresses of the first servers that an answer names, in its order."""
    found = dict[str, None]()
    for text in _texts(answer):
        for end in text.split("--"):
            if at := _SERVER.fullmatch(end):
                found[at[1]] = None
        if len(found) >= most:
            break
    return list(found)[:most]


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, tuple):
        for each in value:
            yield from _texts(each)
    elif is_dataclass(value):
        for each in fields(value):
            if each.name not in _LEFT_OUT:
                yield from _texts(getattr(value, each.name))
