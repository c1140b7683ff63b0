"""Every chip of a cluster at once: its state, and how many chips it shares memory with over scale-up links."""

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, func, select

from trninv import solvers
from trninv.inventory.address import resolve
from trninv.inventory.past import among_lost
from trninv.inventory.schema import CARRYING, STATES, TABLES, is_not_up

_T = TABLES
_DOMAIN, _SERVER, _NODE, _CHIP, _LINK = (_T[name] for name in ("domain", "server", "node", "chip", "link"))

MAGIC: Final = b"TRNI"

Bytes = NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Part:
    """Domains of one model, which follow each other; ``first_…``: the ordinals at which they begin."""

    domains: int
    servers_per_domain: int
    chips_per_server: int
    servers_per_rack: int
    first_domain: int = 0
    first_chip: int = 0
    first_rack: int = 0

    @property
    def chips_per_domain(self) -> int:
        """Chips of each domain."""
        return self.chips_per_server * self.servers_per_domain

    @property
    def chips(self) -> int:
        """Chips of all its domains."""
        return self.domains * self.chips_per_domain

    @property
    def racks(self) -> int:
        """Racks that they stand in."""
        return -(-self.domains * self.servers_per_domain // self.servers_per_rack)

    @property
    def sizes(self) -> tuple[int, int, int, int]:
        """Domains, servers a domain, chips a server, servers a rack."""
        return self.domains, self.servers_per_domain, self.chips_per_server, self.servers_per_rack


@dataclass(frozen=True, slots=True)
class Overview:
    """A cluster's chips in the order of their addresses.

    Attributes
    ----------
    parts
        Its domains by model, in the order of their ordinals.
    states
        A byte a chip: its state's place in `STATES`.
    pools
        A byte a chip: healthy chips that it reaches over scale-up links, itself among them; 0 of one that is not.

    """

    cluster: str
    parts: tuple[Part, ...]
    states: bytes
    pools: bytes

    @property
    def chips(self) -> int:
        """Chips in all."""
        return len(self.states)

    @property
    def domains(self) -> int:
        """Domains in all."""
        return sum(part.domains for part in self.parts)

    def address(self, chip: int) -> str:
        """Of the chip at a place of the order."""
        part = next(part for part in reversed(self.parts) if part.first_chip <= chip)
        server, ordinal = divmod(chip - part.first_chip, part.chips_per_server)
        domain, of = divmod(server, part.servers_per_domain)
        return f"{self.cluster}/d{part.first_domain + domain}/s{of}/c{ordinal}"

    def packed(self) -> bytes:
        """What /chips serves: MAGIC; 32-bit integers, little-endian; the states; the pools.

        The integers of a cluster of one model are the format's version (1), chips, chips a server, servers a domain,
        servers a rack; of several 2, chips, the number of parts, and of each its domains, servers a domain, chips a
        server and servers a rack.
        """
        if len(self.parts) == 1:
            _, *sizes = self.parts[0].sizes
            numbers = [1, self.chips, sizes[1], sizes[0], sizes[2]]
        else:
            numbers = [2, self.chips, len(self.parts), *(size for part in self.parts for size in part.sizes)]
        return MAGIC + struct.pack(f"<{len(numbers)}I", *numbers) + self.states + self.pools


def overview(connection: Connection, cluster: str) -> Overview:
    """Read what is not up; all else is as the domains' models say.

    Raises
    ------
    AddressError, UnknownAddressError

    """
    place = resolve(connection, cluster)
    parts = parts_of(connection, place.cluster_id)
    states = np.zeros(sum(part.chips for part in parts), dtype=np.uint8)
    each = [np.full(part.chips, part.chips_per_domain, dtype=np.uint8) for part in parts]
    pools = np.concatenate(each)
    worn = _worn(connection, place.cluster_id)
    chips = connection.execute(
        select(_NODE.c.id, _DOMAIN.c.ordinal.label("domain"), _SERVER.c.ordinal.label("server"), _CHIP.c.ordinal)
        .add_columns(_NODE.c.state)
        .select_from(_CHIP.join(_NODE, _NODE.c.id == _CHIP.c.id).join(_SERVER).join(_DOMAIN))
        .where(_NODE.c.domain_id.in_(worn))
    ).all()
    if chips:
        at = places(parts, np.array([(chip.domain, chip.server, chip.ordinal) for chip in chips]))
        states[at] = [STATES.index(chip.state) for chip in chips]
        pools[at] = _reach(connection, worn, [chip.id for chip in chips], states[at])
    return Overview(place.address, parts, states.tobytes(), pools.tobytes())


def places(parts: Sequence[Part], ordinals: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where chips are in the order of addresses: rows of the ordinals of domain, server and chip."""
    found = np.zeros(len(ordinals), dtype=np.int64)
    domain, server, chip = ordinals.T
    for part in parts:
        before = (domain - part.first_domain) * part.chips_per_domain
        at = part.first_chip + before + server * part.chips_per_server + chip
        found = np.where(domain >= part.first_domain, at, found)
    return found


def parts_of(connection: Connection, cluster: int) -> tuple[Part, ...]:
    """Of a cluster, by its id."""
    return tuple(_parts(connection, cluster))


def _parts(connection: Connection, cluster: int) -> Iterator[Part]:
    server_model, model = _T["server_model"], _T["domain_model"]
    domains = connection.execute(
        select(_DOMAIN.c.id, model.c.servers, server_model.c.chips, _DOMAIN.c.domain_model_id)
        .join(model, model.c.id == _DOMAIN.c.domain_model_id)
        .join(server_model, server_model.c.id == model.c.server_model_id)
        .where(_DOMAIN.c.cluster_id == cluster)
        .order_by(_DOMAIN.c.ordinal)
    )
    domain = chip = rack = 0
    for _, alike in groupby(domains, key=lambda row: row.domain_model_id):
        first, *others = alike
        per_rack = _servers_per_rack(connection, first.id)
        part = Part(1 + len(others), first.servers, first.chips, per_rack, domain, chip, rack)
        yield part
        domain, chip, rack = domain + part.domains, chip + part.chips, rack + part.racks


def _worn(connection: Connection, cluster: int) -> list[int]:
    """Ids of the domains in which a node or link is not up."""
    ours = _NODE.c.cluster_id + 0 == cluster  # not by the cluster's index: the few that are not up come first
    nodes = select(_NODE.c.domain_id).where(is_not_up(_NODE), among_lost(connection, _NODE), ours)
    links = (
        select(_LINK.c.domain_id)
        .join(_NODE, _NODE.c.id == _LINK.c.a_id)
        .where(is_not_up(_LINK), among_lost(connection, _LINK), ours)
    )
    return sorted({*connection.scalars(nodes), *connection.scalars(links)} - {None})


def _reach(connection: Connection, domains: list[int], chips: list[int], states: Bytes) -> Bytes:
    """Healthy chips within reach of each chip: the sizes of the components that carrying links make."""
    links = connection.execute(
        select(_LINK.c.a_id, _LINK.c.b_id)
        .join(end_a := _NODE.alias("end_a"), end_a.c.id == _LINK.c.a_id)
        .join(end_b := _NODE.alias("end_b"), end_b.c.id == _LINK.c.b_id)
        .where(
            _LINK.c.domain_id.in_(domains),
            _LINK.c.scope != "host",
            *(of.c.state.in_(CARRYING) for of in (_LINK, end_a, end_b)),
        )
    ).all()
    ends = np.array([tuple(link) for link in links], dtype=np.int64).reshape(-1, 2)
    healthy = np.isin(states, [STATES.index(state) for state in CARRYING])
    sizes = solvers.components.sizes(ends, np.array(chips), healthy)
    return np.where(healthy, sizes, 0).astype(np.uint8)


def _servers_per_rack(connection: Connection, domain: int) -> int:
    """How many servers the rack of a domain's first server holds."""
    first = select(_SERVER.c.rack_id).where(_SERVER.c.domain_id == domain, _SERVER.c.ordinal == 0).scalar_subquery()
    count = select(func.count()).select_from(_SERVER).where(_SERVER.c.rack_id == first)
    return int(connection.scalar(count) or 1)
