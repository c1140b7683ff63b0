"""JSON documents that are written line by line, one member of a list or map a line, and read so too."""

import json
from collections.abc import Iterable, Iterator
from typing import Any


def text(value: object) -> str:
    """As JSON, in a line."""
    return json.dumps(value, ensure_ascii=False)


def listed(members: Iterable[str]) -> Iterator[str]:
    """Members, each but the last with a comma behind it."""
    before = None
    for member in members:
        if before is not None:
            yield f"{before},"
        before = member
    if before is not None:
        yield before


def members(lines: Iterable[str]) -> Iterator[Any]:
    """What stands on a line of its own: objects of a list, and members of a map, each as a map of one."""
    for line in lines:
        bare = line.strip().removesuffix(",")
        if bare.endswith("}") and bare[:1] == "{":
            yield json.loads(bare)
        elif bare.endswith("}") and bare[:1] == '"':
            yield json.loads(f"{{{bare}}}")
