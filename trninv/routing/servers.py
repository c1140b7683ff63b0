"""The servers that an answer names: itself, what is in them, an end of a link there; and what stands in them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from typing import Annotated, Final

from trninv.routing.answer import Answer, At

MOST_STANDING: Final = 100
"""Servers of an answer of which it is said what stands in them."""
_SERVER = re.compile(r"([^\s/]+/d\d+/s\d+)(?:/\S*)?")
_LEFT_OUT = {"facts", "baseline"}


@dataclass(frozen=True, slots=True)
class StandingThere:
    """What stands in a server."""

    server: Annotated[At, "The server."]
    instance: Annotated[str | None, "The instance's id."]
    host: Annotated[str | None, "The name of its host."]


def servers_of(answer: Answer, most: int = MOST_STANDING) -> list[str]:
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
