"""What Slurm's files have in common: their limits, and lines of KEY=VALUE."""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from trninv.errors import NotExpressibleError
from trninv.exporters.source import Server, Source

MOST_NODES: Final = 65_536
"""MAX_SLURM_NODES of slurm.h."""
MOST_LEAVES: Final = 2_048
"""Leaf switches that slurmctld still reads in seconds: the time grows with their square, and 6,250 take minutes."""
LONGEST_NAME: Final = 64
LONGEST_REASON: Final = 200
_PAIR: Final = re.compile(r'(\w+)=(?:"([^"]*)"|(\S+))')


def servers(source: Source) -> list[Server]:
    """The source's servers.

    Raises
    ------
    NotExpressibleError
        They are more than one Slurm cluster may have.

    """
    if len(source.servers) > MOST_NODES:
        raise NotExpressibleError(
            f"{source.place.address} has {len(source.servers):,} servers, and a Slurm cluster {MOST_NODES:,} nodes at "
            "most (MAX_SLURM_NODES): export parts of it"
        )
    return source.servers


def named(names: Iterable[str]) -> None:
    """Hold names of switches and blocks to their length.

    Raises
    ------
    NotExpressibleError

    """
    if long := next((name for name in names if len(name) > LONGEST_NAME), None):
        raise NotExpressibleError(f"{long}: Slurm's names have {LONGEST_NAME} characters at most")


def blocks(source: Source) -> dict[str, list[Server]]:
    """The servers by domain, each whole.

    Raises
    ------
    NotExpressibleError
        Domains are of several sizes, or a server of one is left out.

    """
    servers(source)
    found = source.domains()
    sizes = {each.model.domain_servers for of in found.values() for each in of}
    if len(sizes) > 1:
        raise NotExpressibleError(
            f"{source.place.address} has domains of {' and '.join(map(str, sorted(sizes)))} servers, and Slurm's "
            "blocks are of one size: export each cluster of its own, or slurm-tree"
        )
    (size,) = sizes
    if part := next((name for name, of in found.items() if len(of) < size), None):
        raise NotExpressibleError(
            f"{part} would be a block of {len(found[part])} servers, and Slurm refuses blocks below its base size "
            f"{size}: --include-down keeps it whole, here and in slurm-nodes, which drains what is not up"
        )
    named(found)
    return found


def sizes(found: dict[str, list[Server]]) -> list[int]:
    """Sizes of blocks: a domain's, and its doubles as far as there are domains; Slurm takes powers of two only."""
    base = len(next(iter(found.values())))
    return [base << k for k in range(min(len(found).bit_length(), 16))]


def one_line(text: str) -> str:
    """A text as far as Slurm can hold it: printable, and without double quotes, for which nothing stands in a value."""
    printable = "".join(sign if sign.isprintable() else " " for sign in text)
    words = " ".join(printable.replace('"', "'").split())
    return words if len(words) <= LONGEST_REASON else f"{words[:LONGEST_REASON]}…"


def quoted(text: str) -> str:
    """Such a text as a value; Slurm cuts comments and drops backslashes before it looks for quotes."""
    escaped = re.sub(r"([\\#])", r"\\\1", text)
    return f'"{escaped}"'


def settings(lines: Iterable[str]) -> Iterator[dict[str, str]]:
    """KEY=VALUE of each line that has any, as Slurm's parse_config.c reads them."""
    for line in lines:
        bare = re.sub(r"\\(.)|#.*", lambda found: found[1] or "", line)
        if pairs := _PAIR.findall(bare):
            yield {key: quoted or plain for key, quoted, plain in pairs}
