"""What Slurm's files have in common: their limits, and lines of KEY=VALUE."""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from trninv.errors import NotExpressibleError
from trninv.exporters.source import ExportedServer, ExportSource

MAX_SLURM_NODES: Final = 65_536
"""MAX_SLURM_NODES of slurm.h."""
MAX_SLURM_LEAVES: Final = 2_048
"""Leaf switches that slurmctld still reads in seconds: the time grows with their square, and 6,250 take minutes."""
MAX_SLURM_NAME_LENGTH: Final = 64
MAX_SLURM_REASON_LENGTH: Final = 200
_SETTING: Final = re.compile(r'(\w+)=(?:"([^"]*)"|(\S+))')


def slurm_servers(source: ExportSource) -> list[ExportedServer]:
    """The source's servers.

    Raises
    ------
    NotExpressibleError
        They are more than one Slurm cluster may have.

    """
    if len(source.servers) > MAX_SLURM_NODES:
        raise NotExpressibleError(
            f"{source.place.address} has {len(source.servers):,} servers, and a Slurm cluster "
            f"{MAX_SLURM_NODES:,} nodes at "
            "most (MAX_SLURM_NODES): export parts of it"
        )
    return source.servers


def check_names(names: Iterable[str]) -> None:
    """Hold names of switches and blocks to their length.

    Raises
    ------
    NotExpressibleError

    """
    if too_long := next((name for name in names if len(name) > MAX_SLURM_NAME_LENGTH), None):
        raise NotExpressibleError(f"{too_long}: Slurm's names have {MAX_SLURM_NAME_LENGTH} characters at most")


def server_blocks(source: ExportSource) -> dict[str, list[ExportedServer]]:
    """The servers by domain, each whole.

    Raises
    ------
    NotExpressibleError
        Domains are of several sizes, or a server of one is left out.

    """
    slurm_servers(source)
    blocks_by_name = source.servers_by_domain()
    sizes = {server.model.domain_servers for members in blocks_by_name.values() for server in members}
    if len(sizes) > 1:
        raise NotExpressibleError(
            f"{source.place.address} has domains of {' and '.join(map(str, sorted(sizes)))} servers, and Slurm's "
            "blocks are of one size: export each cluster of its own, or slurm-tree"
        )
    (size,) = sizes
    if partial := next((name for name, members in blocks_by_name.items() if len(members) < size), None):
        raise NotExpressibleError(
            f"{partial} would be a block of {len(blocks_by_name[partial])} servers, and Slurm refuses blocks "
            "below its base size "
            f"{size}: --include-down keeps it whole, here and in slurm-nodes, which drains what is not up"
        )
    check_names(blocks_by_name)
    return blocks_by_name


def block_sizes(blocks: dict[str, list[ExportedServer]]) -> list[int]:
    """Sizes of blocks: a domain's, and its doubles as far as there are domains; Slurm takes powers of two only."""
    base = len(next(iter(blocks.values())))
    return [base << k for k in range(min(len(blocks).bit_length(), 16))]


def to_one_line(text: str) -> str:
    """A text as far as Slurm can hold it: printable, and without double quotes, for which nothing stands in a value."""
    printable = "".join(character if character.isprintable() else " " for character in text)
    words = " ".join(printable.replace('"', "'").split())
    return words if len(words) <= MAX_SLURM_REASON_LENGTH else f"{words[:MAX_SLURM_REASON_LENGTH]}…"


def quote(text: str) -> str:
    """Such a text as a value; Slurm cuts comments and drops backslashes before it looks for quotes."""
    escaped = re.sub(r"([\\#])", r"\\\1", text)
    return f'"{escaped}"'


def parse_settings(lines: Iterable[str]) -> Iterator[dict[str, str]]:
    """KEY=VALUE of each line that has any, as Slurm's parse_config.c reads them."""
    for line in lines:
        bare = re.sub(r"\\(.)|#.*", lambda found: found[1] or "", line)
        if pairs := _SETTING.findall(bare):
            yield {key: quoted or plain for key, quoted, plain in pairs}
