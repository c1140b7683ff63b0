"""Parse addresses, the names of places such as ``rainier/d17/s2/c5``, and expand ranges of chips such as c0-3.

A part's address is computed from ordinals, not stored with the part, and stays the same if its cluster is seeded again.

cluster[/dD[/sS[/cC[/ncK]]]]    cluster/dD/swN    cluster/dD/sS/efaN    cluster/rR    cluster/fabric/tT/nN
A--B (a link)    @i-0abc, @hostname (the server to which that instance or host is bound), @hostname/cC
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Final

from trninv.errors import AddressError, InvalidArgumentError
from trninv.inventory.address.machine_names import split_link

_MAX_LENGTH = 200
"""The maximum length of an address."""
_MAX_CLUSTER_NAME = 64
_CLUSTER = re.compile(r"[a-z0-9](?:[a-z0-9._]|-(?!-))*")
_STEP = re.compile(r"(nc|efa|sw|fabric-t|d|s|c|r|n)(\d{1,9})", re.ASCII)
LEVELS: Final[Mapping[tuple[str, ...], str]] = {
    (): "cluster",
    ("d",): "domain",
    ("d", "s"): "server",
    ("d", "s", "c"): "chip",
    ("d", "s", "c", "nc"): "core",
    ("d", "sw"): "switch",
    ("d", "s", "efa"): "nic",
    ("r",): "rack",
    ("fabric-t", "n"): "network_node",
}
"""The level of an address, by the letters of its steps; ``fabric/tT`` counts as one step with letters "fabric-t"."""
STEP_NAMES: Final = {
    "d": "domain",
    "s": "server",
    "c": "chip",
    "nc": "core",
    "sw": "switch",
    "efa": "nic",
    "r": "rack",
    "fabric-t": "network_node",
    "n": "network_node",
}
"""The table whose rows have the ordinal of a step, by the letters of the step."""
_ANY_SERVER: Final = "any/d0/s0"
"""Replaces a machine's name where only the level of the address matters: machines are bound to servers."""


@dataclass(frozen=True, slots=True)
class Address:
    """A parsed address: the cluster's slug and the (letters, ordinal) steps below it."""

    cluster: str
    steps: tuple[tuple[str, int], ...] = ()

    @property
    def level(self) -> str:
        """The level of the named place: cluster, domain, server, …"""
        return LEVELS[self.letters]

    @property
    def letters(self) -> tuple[str, ...]:
        """The letters of the steps below the cluster."""
        return tuple(letters for letters, _ in self.steps)

    @property
    def parent(self) -> "Address":
        """The address of the container."""
        return Address(self.cluster, self.steps[:-1])

    def __str__(self) -> str:
        return "".join([self.cluster, *(f"{format_letters(letters)}{ordinal}" for letters, ordinal in self.steps)])


def parse(text: str) -> Address:
    """Parse the address of one place, ignoring case and surrounding blanks; machine names are not resolved.

    Raises
    ------
    AddressError
        The text has none of the forms shown at the top of this module, or is a link or machine name.
    """
    cluster, *rest = text.strip().lower().replace("/fabric/t", "/fabric-t").split("/")
    steps = [_STEP.fullmatch(step) for step in rest]
    well_formed = len(text) <= _MAX_LENGTH and _CLUSTER.fullmatch(cluster) and all(steps)
    address = Address(cluster, tuple((step[1], int(step[2])) for step in steps if step))
    if not well_formed or tuple(letters for letters, _ in address.steps) not in LEVELS:
        raise AddressError(
            f"{text[:_MAX_LENGTH]!r} is not an address: write CLUSTER, CLUSTER/dD, /dD/sS, /dD/sS/cC, /dD/sS/cC/ncK, "
            "/dD/swN, /dD/sS/efaN, CLUSTER/rR or CLUSTER/fabric/tT/nN, such as u-trn2x64/d0/s1/c5, or @hostname/cC"
        )
    return address


def parse_cluster_name(text: str) -> str:
    """Return a cluster's name as it appears in addresses.

    Raises
    ------
    AddressError
        The name cannot be part of an address.
    """
    name = text.strip().lower()
    if len(name) > _MAX_CLUSTER_NAME or not _CLUSTER.fullmatch(name):
        raise AddressError(
            f"{text[:_MAX_LENGTH]!r} can't name a cluster: write letters, digits, '.', '_' and single '-', "
            f"at most {_MAX_CLUSTER_NAME} characters, a letter or digit first"
        )
    return name


def is_link(text: str) -> bool:
    """Return whether an address has the form of a link."""
    return len(split_link(text)) > 1


def level_of(text: str) -> str:
    """Return the level that an address names, judged by its form alone."""
    if is_link(text):
        return "link"
    text = text.strip()
    if text.startswith("@"):
        _, slash, rest = text.partition("/")
        text = f"{_ANY_SERVER}{slash}{rest}"
    return parse(text).level


def format_letters(letters: str) -> str:
    """Return the letters of a step as an address has them, with the slash before them."""
    return f"/{letters.replace('-', '/')}"


MAX_ADDRESSES: Final = 100_000
"""The maximum number of addresses that `expand_chip_ranges` returns."""
_CHIP_RANGES = re.compile(r"(.*/c)(\d{1,3}(?:-\d{1,3})?(?:,\d{1,3}(?:-\d{1,3})?)*)", re.ASCII | re.DOTALL)


def expand_chip_ranges(addresses: Iterable[str]) -> list[str]:
    """Expand the ranges of chips in addresses, and drop the comma after an address that was copied from a list.

    Raises
    ------
    AddressError
        A range runs backwards.
    InvalidArgumentError
        The result has more than MAX_ADDRESSES addresses.
    """
    all_addresses = (address for text in addresses for address in _expand(text.strip().removesuffix(",")))
    expanded = list(islice(all_addresses, MAX_ADDRESSES + 1))
    if len(expanded) > MAX_ADDRESSES:
        raise InvalidArgumentError(
            f"ranges of chips expand to more than {MAX_ADDRESSES:,} addresses: name servers or racks instead"
        )
    return expanded


def _expand(text: str) -> Iterator[str]:
    match = _CHIP_RANGES.fullmatch(text)
    if match is None:
        yield text
        return
    for chip_range in match[2].split(","):
        first, _, last = chip_range.partition("-")
        if int(last or first) < int(first):
            raise AddressError(f"{text[:200]!r} runs backwards: write the lower number first, as c0-3")
        yield from (f"{match[1]}{chip}" for chip in range(int(first), int(last or first) + 1))
