"""Write and read JSON documents with one member of a list or map per line."""

import json
from collections.abc import Iterable, Iterator
from typing import Any


def json_text(value: object) -> str:
    """Return a value as JSON on one line."""
    return json.dumps(value, ensure_ascii=False)


def json_list(members: Iterable[str]) -> Iterator[str]:
    """Yield members with a comma after each but the last."""
    previous = None
    for member in members:
        if previous is not None:
            yield f"{previous},"
        previous = member
    if previous is not None:
        yield previous


def read_json_members(lines: Iterable[str]) -> Iterator[Any]:
    """Yield what has a line of its own: objects of a list, and members of a map, each as a map with one key."""
    for line in lines:
        bare = line.strip().removesuffix(",")
        if bare.endswith("}") and bare[:1] == "{":
            yield json.loads(bare)
        elif bare.endswith("}") and bare[:1] == '"':
            yield json.loads(f"{{{bare}}}")
