"""Types of the inventory: everything that has a place, and the links between."""

import base64
from collections.abc import Callable
from typing import Annotated, ClassVar, TypeVar

import strawberry

from trninv.catalog.models import COMPUTE
from trninv.graphql.connections import DEFAULT_PAGE, Connection, window
from trninv.graphql.context import Row
from trninv.graphql.facts import AppInfo, Fact
from trninv.graphql.scalars import Address, Bandwidth, Capacity
from trninv.inventory.record import compute_column
from trninv.inventory.state import PPM, carried, condition_of
from trninv.units import Bandwidth as Rate
from trninv.units import Capacity as Size
from trninv.units import Compute as Operations

T = TypeVar("T")

First = Annotated[int, strawberry.argument(description="How many at most.")]
After = Annotated[str | None, strawberry.argument(description="Cursor to go on after.")]


@strawberry.interface(description="Something with an id that node(id:) takes.")
class Node:
    kind: ClassVar[str]
    row: strawberry.Private[Row]

    @strawberry.field(description="Opaque id.")
    def id(self) -> strawberry.ID:
        return strawberry.ID(base64.urlsafe_b64encode(f"{self.kind}:{self.row['id']}".encode()).decode())


@strawberry.interface(description="Something that an address names.")
class Located:
    row: strawberry.Private[Row]

    @strawberry.field(description="Its address.")
    async def address(self, info: AppInfo) -> Address:
        return await self._address(info)

    async def _address(self, info: AppInfo) -> Address:  # noqa: ARG002 # a link asks for its ends
        return Address(self.row["address"])


async def below(
    info: AppInfo, make: Callable[[Row], T], kind: str, parent: str, key: int, page: tuple[int, str | None]
) -> Connection[T]:
    """A page of what is below a parent, in one statement for all parents of a query."""
    first, after = window(*page)
    rows = await info.context.children(kind, parent, key, first, after)
    return Connection.of(rows, make, first, after, lambda: info.context.size(kind, parent, key))


@strawberry.type(description="A kind of operation and how many of it a chip does.")
class Compute:
    type: str = strawberry.field(description="mxfp8, fp8, bf16, fp32, sparse or int8.")
    teraflops: float = strawberry.field(description="10¹² operations per second.")


@strawberry.type(description="A model of chip.")
class ChipModel:
    row: strawberry.Private[Row]

    @strawberry.field(description="Short name, the subject of its facts.")
    def slug(self) -> str:
        return str(self.row["slug"])

    @strawberry.field(description="The vendor's name.")
    def name(self) -> str:
        return str(self.row["name"])

    @strawberry.field(description="trn1, trn2 or trn3.")
    def generation(self) -> str:
        return str(self.row["generation"])

    @strawberry.field(description="Name of its cores.")
    def core_model(self) -> str:
        return str(self.row["core_model"])

    @strawberry.field(description="Physical NeuronCores of one chip.")
    def cores(self) -> int:
        return int(self.row["cores"])

    @strawberry.field(description="HBM of one chip.", graphql_type=Capacity)
    def memory(self) -> Size:
        return Size(self.row["device_memory_bytes"])

    @strawberry.field(description="HBM bandwidth of one chip.", graphql_type=Bandwidth)
    def memory_bandwidth(self) -> Rate:
        return Rate(self.row["device_memory_bandwidth_bytes_per_s"])

    @strawberry.field(description="Operations per second by type.")
    def compute(self) -> list[Compute]:
        return [
            Compute(type=name.removesuffix("_compute"), teraflops=Operations(value) / 1000)
            for name in COMPUTE
            if (value := self.row[compute_column(name)]) is not None
        ]

    @strawberry.field(description="What documents say of it.")
    async def facts(self, info: AppInfo) -> list[Fact]:
        return [Fact(row=row) for row in await info.context.facts_about((self.row["slug"], None))]


@strawberry.type(description="A named fleet: a single server, an UltraServer, an UltraCluster.")
class Cluster(Node, Located):
    kind: ClassVar[str] = "cluster"

    @strawberry.field(description="Its name.")
    def slug(self) -> str:
        return str(self.row["slug"])

    @strawberry.field(description="The system it was seeded as.")
    def system(self) -> str:
        return str(self.row["system"])

    @strawberry.field(description="Its scale-up domains.")
    async def domains(self, info: AppInfo, first: First = DEFAULT_PAGE, after: After = None) -> Connection["Domain"]:
        return await below(info, lambda row: Domain(row=row), "domain", "cluster", self.row["id"], (first, after))

    @strawberry.field(description="Its racks.")
    async def racks(self, info: AppInfo, first: First = DEFAULT_PAGE, after: After = None) -> Connection["Rack"]:
        return await below(info, lambda row: Rack(row=row), "rack", "cluster", self.row["id"], (first, after))

    @strawberry.field(description="Its chips.")
    async def chips(self, info: AppInfo, first: First = DEFAULT_PAGE, after: After = None) -> Connection["Chip"]:
        return await below(info, lambda row: Chip(row=row), "chip", "cluster", self.row["id"], (first, after))


@strawberry.type
class _InCluster:
    row: strawberry.Private[Row]

    @strawberry.field(description="Its number within what contains it.")
    def ordinal(self) -> int:
        return int(self.row["ordinal"])

    @strawberry.field(description="The cluster it belongs to.")
    async def cluster(self, info: AppInfo) -> Cluster:
        return Cluster(row=await info.context.row("cluster", self.row["cluster_id"]))


@strawberry.type
class _InDomain(_InCluster):
    @strawberry.field(description="The scale-up domain it belongs to.")
    async def domain(self, info: AppInfo) -> "Domain":
        return Domain(row=await info.context.row("domain", self.row["domain_id"]))

    @strawberry.field(description="The rack it stands in.")
    async def rack(self, info: AppInfo) -> "Rack":
        return Rack(row=await info.context.row("rack", self.row["rack_id"]))


@strawberry.type
class _InServer(_InDomain):
    @strawberry.field(description="The server it belongs to.")
    async def server(self, info: AppInfo) -> "Server":
        return Server(row=await info.context.row("server", self.row["server_id"]))


@strawberry.type
class _Stated:
    row: strawberry.Private[Row]

    @strawberry.field(description="up, degraded, down or maintenance.")
    def state(self) -> str:
        return str(self.row["state"])

    @strawberry.field(description="The part that still carries, of what is degraded; null: all.")
    def factor(self) -> float | None:
        millionths = self.row["factor_ppm"]
        return None if millionths is None else millionths / PPM


@strawberry.type
class _Vertex(_Stated):
    @strawberry.field(description="Its links.")
    async def links(self, info: AppInfo, first: First = DEFAULT_PAGE, after: After = None) -> Connection["Link"]:
        return await below(info, lambda row: Link(row=row), "link", "node", self.row["id"], (first, after))


@strawberry.type(description="A NeuronLink scale-up domain: one server, or one UltraServer.")
class Domain(_InCluster, Node, Located):
    kind: ClassVar[str] = "domain"

    @strawberry.field(description="The vendor's name of its kind.")
    async def model(self, info: AppInfo) -> str:
        return str((await info.context.model("domain_model", self.row["domain_model_id"]))["name"])

    @strawberry.field(description="single, torus or switched.")
    async def wiring(self, info: AppInfo) -> str:
        return str((await info.context.model("domain_model", self.row["domain_model_id"]))["wiring"])

    @strawberry.field(description="Its servers, rack by rack.")
    async def servers(self, info: AppInfo, first: First = DEFAULT_PAGE, after: After = None) -> Connection["Server"]:
        return await below(info, lambda row: Server(row=row), "server", "domain", self.row["id"], (first, after))

    @strawberry.field(description="Its switches.")
    async def switches(self, info: AppInfo, first: First = DEFAULT_PAGE, after: After = None) -> Connection["Switch"]:
        return await below(info, lambda row: Switch(row=row), "switch", "domain", self.row["id"], (first, after))

    @strawberry.field(description="Its links, those to NICs included.")
    async def links(self, info: AppInfo, first: First = DEFAULT_PAGE, after: After = None) -> Connection["Link"]:
        return await below(info, lambda row: Link(row=row), "link", "domain", self.row["id"], (first, after))


@strawberry.type(description="A rack.")
class Rack(_InCluster, Node, Located):
    kind: ClassVar[str] = "rack"

    @strawberry.field(description="Its height.")
    def rack_units(self) -> int:
        return int(self.row["rack_units"])

    @strawberry.field(description="The servers in it.")
    async def servers(self, info: AppInfo, first: First = DEFAULT_PAGE, after: After = None) -> Connection["Server"]:
        return await below(info, lambda row: Server(row=row), "server", "rack", self.row["id"], (first, after))


@strawberry.type(description="A server: an EC2 instance of a rack.")
class Server(_Stated, _InDomain, Node, Located):
    kind: ClassVar[str] = "server"

    @strawberry.field(description="Its model, the subject of its facts.")
    async def model(self, info: AppInfo) -> str:
        return str((await info.context.model("server_model", self.row["server_model_id"]))["slug"])

    @strawberry.field(description="Virtual CPUs of the host.")
    async def vcpus(self, info: AppInfo) -> int:
        return int((await info.context.model("server_model", self.row["server_model_id"]))["vcpus"])

    @strawberry.field(description="Memory of the host.", graphql_type=Capacity)
    async def host_memory(self, info: AppInfo) -> Size:
        return Size((await info.context.model("server_model", self.row["server_model_id"]))["host_memory_bytes"])

    @strawberry.field(description="Its chips, by device number.")
    async def chips(self, info: AppInfo, first: First = DEFAULT_PAGE, after: After = None) -> Connection["Chip"]:
        return await below(info, lambda row: Chip(row=row), "chip", "server", self.row["id"], (first, after))

    @strawberry.field(description="Its EFA devices.")
    async def nics(self, info: AppInfo, first: First = DEFAULT_PAGE, after: After = None) -> Connection["Nic"]:
        return await below(info, lambda row: Nic(row=row), "nic", "server", self.row["id"], (first, after))


@strawberry.type(description="A chip: what Neuron tools call a device.")
class Chip(_Vertex, _InServer, Node, Located):
    kind: ClassVar[str] = "chip"

    @strawberry.field(description="Its model.")
    async def model(self, info: AppInfo) -> ChipModel:
        return ChipModel(row=await info.context.model("chip_model", self.row["chip_model_id"]))

    @strawberry.field(description="Its HBM.", graphql_type=Capacity)
    async def memory(self, info: AppInfo) -> Size:
        return Size((await info.context.model("chip_model", self.row["chip_model_id"]))["device_memory_bytes"])

    @strawberry.field(description="Number of its tray within the server, null where no document says.")
    async def tray(self, info: AppInfo) -> int | None:
        key = self.row["tray_id"]
        return None if key is None else int((await info.context.model("tray", key))["ordinal"])

    @strawberry.field(description="Its physical cores.")
    async def cores(self, info: AppInfo, first: First = DEFAULT_PAGE, after: After = None) -> Connection["Core"]:
        return await below(info, lambda row: Core(row=row), "core", "chip", self.row["id"], (first, after))


@strawberry.type(description="A physical NeuronCore.")
class Core(_InServer, Node, Located):
    kind: ClassVar[str] = "core"

    @strawberry.field(description="Its chip.")
    async def chip(self, info: AppInfo) -> Chip:
        return Chip(row=await info.context.row("chip", self.row["chip_id"]))


@strawberry.type(description="A switch of a server or of a rack.")
class Switch(_Vertex, _InDomain, Node, Located):
    kind: ClassVar[str] = "switch"

    @strawberry.field(description="The server whose chips it joins; null for a rack's switch.")
    async def server(self, info: AppInfo) -> Server | None:
        key = self.row["server_id"]
        return None if key is None else Server(row=await info.context.row("server", key))


@strawberry.type(description="An EFA device.")
class Nic(_Vertex, _InServer, Node, Located):
    kind: ClassVar[str] = "nic"

    @strawberry.field(description="Its line rate, one direction.", graphql_type=Bandwidth)
    def bandwidth(self) -> Rate:
        return Rate(self.row["bandwidth_bytes_per_s"])


@strawberry.type(description="A network node of the EFA fabric, as EC2's instance topology shows it.")
class NetworkNode(_Vertex, _InCluster, Node, Located):
    kind: ClassVar[str] = "network_node"

    @strawberry.field(description="Its tier: 1 on top, 3 above the NICs.")
    def tier(self) -> int:
        return int(self.row["tier"])


@strawberry.type(description="A link between two nodes, full duplex.")
class Link(_Stated, Node, Located):
    kind: ClassVar[str] = "link"

    async def _address(self, info: AppInfo) -> Address:
        _, a = await info.context.end(self.row["a_id"])
        _, b = await info.context.end(self.row["b_id"])
        return Address(f"{a['address']}--{b['address']}")

    @strawberry.field(description="One end.")
    async def a(self, info: AppInfo) -> Located:
        return _end(*await info.context.end(self.row["a_id"]))

    @strawberry.field(description="The other end.")
    async def b(self, info: AppInfo) -> Located:
        return _end(*await info.context.end(self.row["b_id"]))

    @strawberry.field(description="What one direction carries now.", graphql_type=Bandwidth)
    async def bandwidth(self, info: AppInfo) -> Rate:
        ends = [await info.context.model("node", self.row[end]) for end in ("a_id", "b_id")]
        return Rate(carried(self.row["bandwidth_bytes_per_s"], *map(condition_of, (self.row, *ends))))

    @strawberry.field(description="What one direction carries when healthy.", graphql_type=Bandwidth)
    def nominal(self) -> Rate:
        return Rate(self.row["bandwidth_bytes_per_s"])

    @strawberry.field(
        description="Twice the nominal bandwidth, as vendor pages often print it.", graphql_type=Bandwidth
    )
    def both_directions(self) -> Rate:
        return Rate(2 * self.row["bandwidth_bytes_per_s"])

    @strawberry.field(description="PCIe lanes, where documented.")
    def lanes(self) -> int | None:
        return self.row["lanes"]  # type: ignore[no-any-return]

    @strawberry.field(description="Cables side by side; its bandwidth is that of all of them.")
    def cables(self) -> int:
        return int(self.row["cables"])

    @strawberry.field(description="NeuronLink-v2, EFA, …")
    def technology(self) -> str:
        return str(self.row["technology"])

    @strawberry.field(
        description="What it joins the chips of: server, rack or domain; host: chip and NIC; fabric: network nodes."
    )
    def scope(self) -> str:
        return str(self.row["scope"])

    @strawberry.field(description="The scale-up domain it belongs to; null between two network nodes.")
    async def domain(self, info: AppInfo) -> Domain | None:
        key = self.row["domain_id"]
        return None if key is None else Domain(row=await info.context.row("domain", key))

    @strawberry.field(description="What documents say of links of its kind.")
    async def facts(self, info: AppInfo) -> list[Fact]:
        model = await info.context.model("link_model", self.row["link_model_id"])
        return [Fact(row=row) for row in await info.context.facts_about((model["slug"], None))]


TYPES = (Cluster, Domain, Rack, Server, Chip, Core, Switch, Nic, NetworkNode, Link)
BY_KIND = {kind.kind: kind for kind in TYPES}


def _end(kind: str, row: Row) -> Located:
    return BY_KIND[kind](row=row)
