"""JSON documents that are written line by line, one member of a list or map a line, and read so too."""

import json
from collections.abc import Iterable, Iterator
from typing import Any


def json_text(value: object) -> str:
    """As JSON, in a line."""
    return json.dumps(value, ensure_ascii=False)


def json_list(members: Iterable[str]) -> Iterator[str]:
    """Members, each but the last with a comma behind it."""
    previous = None
    for member in members:
        if previous is not None:
            yield f"{previous},"
        previous = member
    if previous is not None:
        yield previous


def read_json_members(lines: Iterable[str]) -> Iterator[Any]:
    """What stands on a line of its own: objects of a list, and members of a map, each as a map of one."""
    for line in lines:
        bare = line.strip().removesuffix(",")
        if bare.endswith("}") and bare[:1] == "{":
            yield json.loads(bare)
        elif bare.endswith("}") and bare[:1] == '"':
            yield json.loads(f"{{{bare}}}")
