"""The machine that a file's own name gives: an instance, or else a host."""

import re
from typing import Final

EXTENSIONS: Final = (".json", ".jsonl", ".ndjson", ".txt", ".log", ".out", ".yaml", ".yml", ".gz")
"""What is no part of a machine's name at the end of a file's; any other end is, as ``.internal``."""
_INSTANCE = re.compile(r"i-[0-9a-f]+")


def machine_name(file_name: str) -> str:
    """Return a file's name without its known extensions, of which it may have several."""
    name = file_name
    while (end := next((each for each in EXTENSIONS if name.lower().endswith(each)), "")) and name != end:
        name = name[: -len(end)]
    return name


def is_instance(name: str) -> bool:
    """Return whether a machine's name is an instance's id; a host's name may be one only with a domain after it."""
    return _INSTANCE.fullmatch(name) is not None
