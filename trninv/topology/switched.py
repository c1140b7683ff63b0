"""A two-level switched domain: a switch a server, a switch a rack, direct links between twins in two racks."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Literal, NamedTuple

Level = Literal["server", "rack", "twin"]


class SwitchedLink(NamedTuple):
    a: int
    b: int
    level: Level


@dataclass(frozen=True, slots=True)
class Switched:
    """Chips are numbered rack by rack and server by server; then the server switches, then the rack switches."""

    racks: int
    servers_per_rack: int
    chips_per_server: int

    @property
    def servers(self) -> int:
        return self.racks * self.servers_per_rack

    @property
    def chips(self) -> int:
        return self.servers * self.chips_per_server

    def links(self) -> list[SwitchedLink]:
        """Every chip to the switch of its server and of its rack, and to the same position of every other rack."""
        return sorted(self._links())

    def _links(self) -> Iterator[SwitchedLink]:
        in_rack = self.servers_per_rack * self.chips_per_server
        for chip in range(self.chips):
            yield SwitchedLink(chip, self.chips + chip // self.chips_per_server, "server")
            yield SwitchedLink(chip, self.chips + self.servers + chip // in_rack, "rack")
        for one, other in combinations(range(self.racks), 2):
            for position in range(in_rack):
                yield SwitchedLink(one * in_rack + position, other * in_rack + position, "twin")
