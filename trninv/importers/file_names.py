"""The machine that a file's own name gives: an instance, or else a host."""

from typing import Final

EXTENSIONS: Final = (".json", ".jsonl", ".ndjson", ".txt", ".log", ".out", ".yaml", ".yml", ".gz")
"""What is no part of a machine's name at the end of a file's; any other end is, as ``.internal``."""


def machine_name(file_name: str) -> str:
    """Return a file's name without its known extensions, of which it may have several."""
    name = file_name
    while (
        suffix := next((extension for extension in EXTENSIONS if name.lower().endswith(extension)), "")
    ) and name != suffix:
        name = name[: -len(suffix)]
    return name
