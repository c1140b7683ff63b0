"""Find the servers that an answer names: by their own address, a part's in them, or a link's that ends there."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from typing import Annotated, Final

from trninv.routing.answer import AddressText, Answer

MAX_INSTANCES: Final = 100
"""Servers of an answer whose instances are listed."""
_SERVER_PATTERN = re.compile(r"([^\s/]+/d\d+/s\d+)(?:/\S*)?")
_SKIPPED_FIELDS = {"facts", "baseline"}


@dataclass(frozen=True, slots=True)
class ServerInstance:
    """What stands in a server."""

    server: Annotated[AddressText, "The server."]
    instance: Annotated[str | None, "The instance's id."]
    host: Annotated[str | None, "The name of its host."]


def servers_in_answer(answer: Answer, limit: int = MAX_INSTANCES) -> list[str]:
    """Return the addresses of the first servers that an answer names, in its order."""
    servers = dict[str, None]()
    for text in _all_texts(answer):
        for end in text.split("--"):
            if match := _SERVER_PATTERN.fullmatch(end):
                servers[match[1]] = None
        if len(servers) >= limit:
            break
    return list(servers)[:limit]


def _all_texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _all_texts(item)
    elif is_dataclass(value):
        for item in fields(value):
            if item.name not in _SKIPPED_FIELDS:
                yield from _all_texts(getattr(value, item.name))
