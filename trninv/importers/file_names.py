"""Derive a machine's name, an instance id or a host name, from the name of its file."""

from typing import Final

EXTENSIONS: Final = (".json", ".jsonl", ".ndjson", ".txt", ".log", ".out", ".yaml", ".yml", ".gz")
"""Extensions to remove; any other suffix, such as ``.internal``, is part of the machine's name."""


def machine_name(file_name: str) -> str:
    """Return a file's name without its known extensions, of which there may be several."""
    name = file_name
    while (
        suffix := next((extension for extension in EXTENSIONS if name.lower().endswith(extension)), "")
    ) and name != suffix:
        name = name[: -len(suffix)]
    return name
