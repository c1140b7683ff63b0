"""Read the structure of a projection, which only seeding, adoption and removal change, as columns for the graph.

Rows are read in the order of their ids. Addresses are made here, which is faster than in SQL.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any, Final, NamedTuple

import orjson
from sqlalchemy import Connection, select

from trninv.database.bulk_read import read_query_batches
from trninv.database.tables import TABLES
from trninv.graph_projection.changing_state import INSTANCE_VALUES, JOB_VALUES, ChangingState, factor_of
from trninv.graph_projection.schema import schema_digest

_BATCH_SIZE: Final = 50_000
_GIB: Final = 2**30
GIGA: Final = 10**9
_MODEL_TABLES: Final = ("chip_model", "server_model", "domain_model", "link_model", "switch_model")
_NETWORK_RANK: Final = 1_000
"""More than the number of tiers of any fabric."""


class Columns(NamedTuple):
    """Rows of a table of the graph, by column; of a relationship, the first two columns are the keys of its ends."""

    table: str
    values: Mapping[str, Any]
    pair: tuple[str, str] | None = None


class NodeColumns(NamedTuple):
    """What links need to know of the nodes of a label.

    Attributes
    ----------
    ranks
        Numbers that rise with the height in the network; a link goes from the lower rank to the higher one.

    """

    label: str
    ids: Sequence[int]
    addresses: Sequence[str]
    ranks: Sequence[int]


def structure_digest(connection: Connection) -> str:
    """Return a digest of what a projection has besides its `ChangingState`.

    Every change of a cluster's parts begins a new history, so the clusters' rows stand for their parts.
    """
    tables = [TABLES[name] for name in ("cluster", *_MODEL_TABLES)]
    rows = [[tuple(row) for row in connection.execute(select(table).order_by(table.c.id))] for table in tables]
    return sha256(schema_digest().encode() + orjson.dumps(rows)).hexdigest()[:12]


class StructureReader:
    """Reads the tables one after another; those that are read first provide the addresses for the others.

    Attributes
    ----------
    nodes
        The chips, switches, NICs and network nodes that were read.

    """

    def __init__(self, connection: Connection, state: ChangingState) -> None:
        self._connection, self._state = connection, state
        self._places: dict[str, dict[int, str]] = {}  # the addresses of places by table and id
        self.nodes: list[NodeColumns] = []

    def read(self) -> Iterator[Columns]:
        """Yield the rows of clusters and their parts with what contains them."""
        ids, slugs, systems = self._read("cluster", "id", "slug", "system")
        self._places["cluster"] = dict(zip(ids, slugs, strict=True))
        yield Columns("Cluster", {"address": slugs, "system": systems})
        yield from self._read_racks()
        yield from self._read_domains()
        yield from self._read_servers()
        yield from self._read_chips()
        yield from self._read_nics()
        yield from self._read_switches()
        yield from self._read_network_nodes()
        yield from self._jobs()
        yield from self._instances()

    def _read_racks(self) -> Iterator[Columns]:
        ids, cluster_ids, ordinals, units = self._read("rack", "id", "cluster_id", "ordinal", "rack_units")
        clusters = self._addresses("cluster", cluster_ids)
        addresses = self._add_places("rack", ids, _join(clusters, "/r", ordinals))
        yield Columns("Rack", {"address": addresses, "cluster": clusters, "ordinal": ordinals, "rack_units": units})
        yield _part_of("Rack", addresses, "Cluster", clusters)

    def _read_domains(self) -> Iterator[Columns]:
        ids, cluster_ids, ordinals, model_ids = self._read("domain", "id", "cluster_id", "ordinal", "domain_model_id")
        models = self._read_models("domain_model", "slug", "wiring")
        clusters = self._addresses("cluster", cluster_ids)
        addresses = self._add_places("domain", ids, _join(clusters, "/d", ordinals))
        values = {"address": addresses, "cluster": clusters, "ordinal": ordinals}
        for index, name in enumerate(("model", "wiring")):
            values[name] = [models[key][index] for key in model_ids]
        yield Columns("Domain", values)
        yield _part_of("Domain", addresses, "Cluster", clusters)

    def _read_servers(self) -> Iterator[Columns]:
        ids, domain_ids, rack_ids, model_ids, ordinals = self._read(
            "server", "id", "domain_id", "rack_id", "server_model_id", "ordinal"
        )
        models = self._read_models("server_model", "slug")
        domains, racks = self._addresses("domain", domain_ids), self._addresses("rack", rack_ids)
        addresses = self._add_places("server", ids, _join(domains, "/s", ordinals))
        # under names of their own: the containers of servers, by which chips find them
        self._add_places("domain of server", ids, domains)
        self._add_places("rack of server", ids, racks)
        cordoned = self._state.sections["cordon"]
        values = {"address": addresses, "cluster": _clusters(domains), "domain": domains, "rack": racks}
        values |= {"ordinal": ordinals, "model": [models[key][0] for key in model_ids]}
        yield Columns(
            "Server", values | self._conditions("server", ids) | {"cordoned": [str(key) in cordoned for key in ids]}
        )
        yield _part_of("Server", addresses, "Domain", domains)
        yield _part_of("Server", addresses, "Rack", racks)

    def _read_chips(self) -> Iterator[Columns]:
        tray = TABLES["tray"]
        ids, server_ids, ordinals, tray_ids, model_ids = self._read(
            "chip", "id", "server_id", "ordinal", "tray_id", "chip_model_id"
        )
        models = self._read_models("chip_model", "slug", "cores", "device_memory_bytes")
        trays = {row.id: row.ordinal for row in self._connection.execute(select(tray.c.id, tray.c.ordinal))}
        values = self._server_part_values("Chip", "/c", ids, server_ids, ordinals)
        values |= {"rack": self._addresses("rack of server", server_ids), "tray": [trays.get(key) for key in tray_ids]}
        values |= {"model": [models[key][0] for key in model_ids], "cores": [models[key][1] for key in model_ids]}
        values["hbm_gib"] = [models[key][2] // _GIB for key in model_ids]
        yield Columns("Chip", values | self._conditions("node", ids))
        yield _part_of("Chip", values["address"], "Server", values["server"])

    def _read_nics(self) -> Iterator[Columns]:
        ids, server_ids, ordinals, bandwidths = self._read("nic", "id", "server_id", "ordinal", "bandwidth_bytes_per_s")
        values = self._server_part_values("Nic", "/efa", ids, server_ids, ordinals)
        values["nominal_gb_per_s"] = [bandwidth / GIGA for bandwidth in bandwidths]
        yield Columns("Nic", values | self._conditions("node", ids))
        yield _part_of("Nic", values["address"], "Server", values["server"])

    def _server_part_values(
        self, label: str, step: str, ids: Sequence[int], server_ids: Sequence[int], ordinals: Sequence[int]
    ) -> dict[str, Any]:
        """Return the columns that chips and NICs have in common, and keep their addresses for the links."""
        servers, domains = self._addresses("server", server_ids), self._addresses("domain of server", server_ids)
        addresses = _join(servers, step, ordinals)
        self.nodes.append(NodeColumns(label, ids, addresses, [label != "Chip"] * len(ids)))
        return {
            "address": addresses,
            "cluster": _clusters(domains),
            "domain": domains,
            "server": servers,
            "ordinal": ordinals,
        }

    def _read_switches(self) -> Iterator[Columns]:
        node, switch = TABLES["node"], TABLES["switch"]
        query = select(switch.c.id, node.c.domain_id, switch.c.rack_id, switch.c.ordinal, switch.c.switch_model_id)
        rows = self._connection.execute(query.join(node, node.c.id == switch.c.id).order_by(switch.c.id)).all()
        models = self._read_models("switch_model", "slug")
        ids, domain_ids, rack_ids, ordinals, model_ids = _transpose(rows, 5)
        domains, racks = self._addresses("domain", domain_ids), self._addresses("rack", rack_ids)
        addresses = _join(domains, "/sw", ordinals)
        self.nodes.append(NodeColumns("Switch", ids, addresses, [1] * len(ids)))
        values: dict[str, Any] = {"address": addresses, "cluster": _clusters(domains), "domain": domains, "rack": racks}
        values |= {"ordinal": ordinals, "model": [models[key][0] if key else None for key in model_ids]}
        yield Columns("Switch", values | self._conditions("node", ids))
        yield _part_of("Switch", addresses, "Domain", domains)
        yield _part_of("Switch", addresses, "Rack", racks)

    def _read_network_nodes(self) -> Iterator[Columns]:
        node, network_node = TABLES["node"], TABLES["network_node"]
        columns = (network_node.c[name] for name in ("tier", "ordinal", "vendor_id"))
        query = select(node.c.id, node.c.cluster_id, *columns).join(network_node, network_node.c.id == node.c.id)
        rows = self._connection.execute(query.order_by(node.c.id)).all()
        ids, cluster_ids, tiers, ordinals, vendor_ids = _transpose(rows, 5)
        clusters = self._addresses("cluster", cluster_ids)
        addresses = _join(_join(clusters, "/fabric/t", tiers), "/n", ordinals)
        self.nodes.append(NodeColumns("NetworkNode", ids, addresses, [network_rank(tier) for tier in tiers]))
        values = {"address": addresses, "cluster": clusters, "tier": tiers, "ordinal": ordinals}
        yield Columns("NetworkNode", values | {"vendor_id": vendor_ids} | self._conditions("node", ids))
        yield _part_of("NetworkNode", addresses, "Cluster", clusters)

    def _jobs(self) -> Iterator[Columns]:
        jobs, allocations = (self._state.sections[name] for name in ("job", "allocation"))
        values = dict(zip(JOB_VALUES, _transpose(list(jobs.values()), len(JOB_VALUES)), strict=True))
        values["pinned"] = [bool(pinned) for pinned in values["pinned"]]
        yield Columns("Job", {"id": [int(key) for key in jobs]} | values)
        chips = next(columns for columns in self.nodes if columns.label == "Chip")
        addresses = dict(zip(chips.ids, chips.addresses, strict=True)) if allocations else {}
        job_ids, chip_ids, roles, starts = _transpose(list(allocations.values()), 4)
        chip_addresses = [addresses[key] for key in chip_ids]
        columns = {"from": job_ids, "to": chip_addresses, "role": roles, "started_at": starts}
        yield Columns("ALLOCATED", columns, ("Job", "Chip"))

    def _instances(self) -> Iterator[Columns]:
        instances = self._state.sections["instance"]
        ids = [int(key) for key in instances]
        server_ids, *columns = _transpose(list(instances.values()), 1 + len(INSTANCE_VALUES))
        yield Columns("Instance", {"id": ids} | dict(zip(INSTANCE_VALUES, columns, strict=True)))
        yield Columns("RUNS_ON", {"from": ids, "to": self._addresses("server", server_ids)}, ("Instance", "Server"))

    def _read(self, table: str, *names: str) -> list[list[Any]]:
        """Return the columns of a table, whose rows are in the order of their ids."""
        query = select(*(TABLES[table].c[name] for name in names)).order_by(TABLES[table].c.id)
        return read_columns(read_query_batches(self._connection, query, _BATCH_SIZE), len(names))

    def _read_models(self, table: str, *names: str) -> dict[int, tuple[Any, ...]]:
        columns = (TABLES[table].c[name] for name in ("id", *names))
        return {row[0]: tuple(row[1:]) for row in self._connection.execute(select(*columns))}

    def _add_places(self, table: str, ids: Sequence[int], addresses: list[str]) -> list[str]:
        self._places[table] = dict(zip(ids, addresses, strict=True))
        return addresses

    def _addresses(self, table: str, ids: Sequence[int]) -> list[str]:
        places = self._places[table]
        return [places[key] for key in ids]

    def _conditions(self, section: str, ids: Sequence[int]) -> dict[str, list[Any]]:
        states, factors = ["up"] * len(ids), list[float | None]([None] * len(ids))
        if conditions := self._state.sections[section]:
            for index, key in enumerate(ids):
                if condition := conditions.get(str(key)):
                    states[index], factors[index] = condition[0], factor_of(condition[1])
        return {"state": states, "factor": factors}


def network_rank(tier: int) -> int:
    """Return the rank of a network node in a tier; tier 1 is on top."""
    return _NETWORK_RANK - tier


def read_columns(batches: Iterable[Sequence[tuple[Any, ...]]], number: int) -> list[list[Any]]:
    """Return the columns of rows that come in batches."""
    columns = [list[Any]() for _ in range(number)]
    for batch in batches:
        for column, values in zip(columns, zip(*batch, strict=True), strict=True):
            column.extend(values)
    return columns


def _transpose(rows: Sequence[Sequence[Any]], number: int) -> list[list[Any]]:
    return [[row[index] for row in rows] for index in range(number)]


def _join(starts: Sequence[str], step: str, ordinals: Sequence[int]) -> list[str]:
    return [f"{start}{step}{ordinal}" for start, ordinal in zip(starts, ordinals, strict=True)]


def _clusters(addresses: Sequence[str]) -> list[str]:
    """Return the cluster's name of each address; many parts share the text."""
    names: dict[str, str] = {}
    return [names.setdefault(name, name) for name in (address.partition("/")[0] for address in addresses)]


def _part_of(label: str, parts: Sequence[str], container: str, containers: Sequence[str]) -> Columns:
    return Columns("PART_OF", {"from": parts, "to": containers}, (label, container))
