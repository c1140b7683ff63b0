"""Every chip of a cluster at once: its state, and how many chips it shares memory with over scale-up links."""

import struct
from dataclasses import dataclass
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
HEADER: Final = struct.Struct("<4s5I")

Bytes = NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Overview:
    """A cluster's chips in the order of their addresses, all domains being of one model.

    Attributes
    ----------
    states
        A byte a chip: its state's place in `STATES`.
    pools
        A byte a chip: healthy chips that it reaches over scale-up links, itself among them; 0 of one that is not.

    """

    cluster: str
    chips_per_server: int
    servers_per_domain: int
    servers_per_rack: int
    states: bytes
    pools: bytes

    @property
    def chips(self) -> int:
        """Chips in all."""
        return len(self.states)

    @property
    def chips_per_domain(self) -> int:
        """Chips of each domain."""
        return self.chips_per_server * self.servers_per_domain

    @property
    def domains(self) -> int:
        """Domains in all."""
        return self.chips // self.chips_per_domain

    def address(self, chip: int) -> str:
        """Of the chip at a place of the order."""
        server, ordinal = divmod(chip, self.chips_per_server)
        domain, of = divmod(server, self.servers_per_domain)
        return f"{self.cluster}/d{domain}/s{of}/c{ordinal}"

    def packed(self) -> bytes:
        """What /chips serves: MAGIC; five 32-bit integers, little-endian; the states; the pools.

        The integers are the format's version (1), chips, chips a server, servers a domain, servers a rack.
        """
        sizes = 1, self.chips, self.chips_per_server, self.servers_per_domain, self.servers_per_rack
        return HEADER.pack(MAGIC, *sizes) + self.states + self.pools


def overview(connection: Connection, cluster: str) -> Overview:
    """Read what is not up; all else is as the domain's model says.

    Raises
    ------
    AddressError, UnknownAddressError

    """
    place = resolve(connection, cluster)
    server_model, domain_model, own = _T["server_model"], _T["domain_model"], _T["cluster"]
    sizes = connection.execute(
        select(own.c.slug, own.c.domains, domain_model.c.servers, server_model.c.chips)
        .join(domain_model, domain_model.c.id == own.c.domain_model_id)
        .join(server_model, server_model.c.id == domain_model.c.server_model_id)
        .where(own.c.id == place.cluster_id)
    ).one()
    per_domain = sizes.servers * sizes.chips
    states = np.zeros(sizes.domains * per_domain, dtype=np.uint8)
    pools = np.full(len(states), per_domain, dtype=np.uint8)
    worn = _worn(connection, place.cluster_id)
    places = _DOMAIN.c.ordinal * per_domain + _SERVER.c.ordinal * sizes.chips + _CHIP.c.ordinal
    chips = connection.execute(
        select(_NODE.c.id, places.label("place"), _NODE.c.state)
        .select_from(_CHIP.join(_NODE, _NODE.c.id == _CHIP.c.id).join(_SERVER).join(_DOMAIN))
        .where(_NODE.c.domain_id.in_(worn))
    ).all()
    if chips:
        at = np.array([chip.place for chip in chips])
        states[at] = [STATES.index(chip.state) for chip in chips]
        pools[at] = _reach(connection, worn, [chip.id for chip in chips], states[at])
    return Overview(
        cluster=sizes.slug,
        chips_per_server=sizes.chips,
        servers_per_domain=sizes.servers,
        servers_per_rack=_servers_per_rack(connection, place.cluster_id),
        states=states.tobytes(),
        pools=pools.tobytes(),
    )


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


def _servers_per_rack(connection: Connection, cluster: int) -> int:
    rack = _T["rack"]
    first = select(rack.c.id).where(rack.c.cluster_id == cluster, rack.c.ordinal == 0).scalar_subquery()
    count = select(func.count()).select_from(_SERVER).where(_SERVER.c.rack_id == first)
    return int(connection.scalar(count) or 1)
