"""Split a listing into blocks of machines, so that a pull stores only the blocks that changed.

Content that is stored already is not stored again. A fleet changes a little at any time, and without blocks each change
would store all of its machines once more. A machine's block depends only on its name.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator
from hashlib import sha256
from io import BytesIO
from typing import Final

import orjson

from trninv.discovery.provider import PulledEntry, PulledListing
from trninv.importers.ingestion import ImportFile

BLOCKS: Final = 64
"""The number of blocks of a large listing."""
MAX_UNDIVIDED: Final = 1_000
"""The number of entries up to which a listing is one block."""


def split_listing(target: str, listing: PulledListing, stored: Collection[str]) -> Iterator[ImportFile]:
    """Yield the blocks of a listing as files, each made when it is asked for; a listing without entries is one file.

    Parameters
    ----------
    stored
        The names of blocks that may be stored with machines. If such a block has no entry any more, an empty file
        ends its machines.

    """
    name = f"{target}/{listing.name}"
    entries_by_block = defaultdict[str, list[PulledEntry]](list)
    is_divided = len(listing.entries) > MAX_UNDIVIDED
    for entry in listing.entries:
        entries_by_block[f"{name}/{_block(entry.key)}" if is_divided else name].append(entry)
    emptied = {block for block in stored if block.startswith(f"{name}/")} if is_divided else set()
    for block in sorted({*entries_by_block, *emptied} or {name}):
        lines = sorted((entry.key, entry.line()) for entry in entries_by_block[block])
        lines = lines or [("", _empty_line(listing, block))]
        yield ImportFile(block, BytesIO(b"".join(line for _, line in lines)))


def _block(key: str) -> int:
    return sha256(key.encode(errors="replace")).digest()[0] % BLOCKS


def _empty_line(listing: PulledListing, block: str) -> bytes:
    """Return a document that differs from those of other empty blocks, since equal content is stored once."""
    return orjson.dumps({**listing.empty_document, "block": block}, option=orjson.OPT_SORT_KEYS) + b"\n"
