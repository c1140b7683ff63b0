"""Name a scheduler's block by the names that it has in several levels or topologies."""

from collections.abc import Iterable
from hashlib import sha256

from trninv.importers.json_value import MAX_NAME


def join_names(names: Iterable[str], separator: str) -> str:
    """Return names in one, or their digest if that is too long for a name."""
    joined = separator.join(names)
    return joined if len(joined) <= MAX_NAME else sha256(joined.encode(errors="replace")).hexdigest()
