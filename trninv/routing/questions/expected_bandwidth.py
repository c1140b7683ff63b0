"""Answer how fast collectives and transfers of each server can be on the wiring as it is, for health checks."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING, Annotated, Final, NamedTuple, cast

from sqlalchemy import func, select

from trninv.database.tables import TABLES
from trninv.enumeration import DescribedEnum
from trninv.errors import InvalidArgumentError, ScopeTooLargeError
from trninv.importers.measured_run import bus_factor
from trninv.inventory.address.expressions import address_expression, join_containers
from trninv.inventory.address.lookup import Place, resolve_place
from trninv.inventory.address.rows_in import row_ids_in
from trninv.inventory.parameter import Argument
from trninv.inventory.state.bindings import bound_machines
from trninv.rendered_text import Rendered, RenderedTable
from trninv.routing import evidence
from trninv.routing.answer import AddressText, Answer, CitedFact
from trninv.routing.measurement_rows import read_measurements
from trninv.routing.question import ROUTED_COST, question
from trninv.routing.questions import find
from trninv.routing.snapshot import Snapshot
from trninv.routing.wiring import domains_of_nodes
from trninv.units import Bandwidth, Capacity, Duration

if TYPE_CHECKING:
    from trninv.routing.questions.collectives import CollectivesAnswer

_CHIP, _CORE, _NIC, _SERVER = (TABLES[name] for name in ("chip", "core", "nic", "server"))
MAX_SERVERS: Final = 64
_MAX_CORES: Final = 1_024
_MAX_MEASUREMENTS: Final = 10_000
SIZES: Final = tuple(Capacity(2**exponent) for exponent in range(20, 31, 2))
"""1 MiB to 1 GiB, each four times the one before."""
_COLLECTIVES: Final = ("all-gather", "all-reduce", "reduce-scatter")
_EFA, _EFA_DEVICE = "efa", "efa-device"
_DEFINITION: Final = (
    "limits of the wiring with what is down, one direction; what is above a limit was measured wrong. Bus bandwidth of "
    "a chip: the size over the time, times (n - 1) / n for n chips, or twice that for all-reduce; nccom-test takes the "
    "number of ranks for n. The shortest time is that of the limit, without latency. efa is all EFA devices of a "
    "server together, efa-device the slowest of them"
)


class _Server(NamedTuple):
    """A server, and the instance or host that is bound to it."""

    id: int
    address: str
    machine: str | None


class BandwidthTool(DescribedEnum):
    """The tool whose results are expected."""

    NCCOM = "NCCOM", "nccom-test: collectives of a server's chips, and transfers over EFA."


@dataclass(frozen=True, slots=True)
class ShortestTime:
    """How long an operation takes at least."""

    size: Annotated[Capacity, "Size of the data."]
    time: Annotated[Duration, "Shortest time."]


@dataclass(frozen=True, slots=True)
class ExpectedOperation:
    """Limits of one operation on one server."""

    address: Annotated[AddressText, "The server."]
    machine: Annotated[str | None, "The instance or host that is bound to it."]
    operation: Annotated[str, "all-gather, all-reduce, reduce-scatter, efa or efa-device."]
    members: Annotated[int, "Healthy chips or EFA devices that take part."]
    limit: Annotated[Bandwidth, "Limit on the bus bandwidth of a chip, or on the devices."]
    algorithm_limit: Annotated[Bandwidth, "Limit on the size over the time (algbw)."]
    ranks: Annotated[int | None, "Ranks on these chips; null for EFA."]
    nccom_limit: Annotated[Bandwidth | None, "Limit on the busbw that nccom-test prints for these ranks; null for EFA."]
    minimum: Annotated[Bandwidth | None, "The requested share of the limit on what the tool prints; else null."]
    best: Annotated[Bandwidth | None, "Best imported bus bandwidth with as many chips that is not above this limit."]
    times: Annotated[tuple[ShortestTime, ...], "Shortest time for each size; empty if the limit is 0."]

    def with_minimum(self, percent: int) -> "ExpectedOperation":
        """Return a copy that requests a share of the limit on what the tool prints."""
        printed = self.limit if self.nccom_limit is None else self.nccom_limit
        return replace(self, minimum=Bandwidth(printed * percent // 100))


@dataclass(frozen=True, kw_only=True)
class ExpectedBandwidthAnswer(Answer):
    """Limits that the wiring sets on what a health check measures."""

    scope: Annotated[AddressText, "The scope."]
    tool: Annotated[BandwidthTool, "The tool."]
    cores_per_rank: Annotated[int, "Physical cores of a rank (LNC)."]
    percent: Annotated[int | None, "Share of the limit that was requested as the minimum, percent."]
    operations: Annotated[tuple[ExpectedOperation, ...], "Operations of each server."]

    def render(self) -> Rendered:
        yield f"{self.scope}: at most"
        yield RenderedTable(
            ["server", "operation", "of", "bus", "algbw", "nccom-test busbw", "1 GiB takes", "minimum", "best"],
            map(_operation_row, self.operations),
        )


def _operation_row(expected: ExpectedOperation) -> Sequence[str]:
    return [
        expected.address,
        expected.operation,
        f"{expected.members}",
        *map(_gigabytes, (expected.limit, expected.algorithm_limit, expected.nccom_limit)),
        f"{expected.times[-1].time / 10**6:,.4g} ms" if expected.times else "never",
        *map(_gigabytes, (expected.minimum, expected.best)),
    ]


def _gigabytes(bandwidth: Bandwidth | None) -> str:
    return "" if bandwidth is None else f"{bandwidth / 10**9:,.4g} GB/s"


@question(
    cost=ROUTED_COST,
    command="expected",
    examples=("expected u-trn2x64/d0 --for nccom --cores-per-rank 2 --percent 50",),
    has_baseline=False,
)
def expected_bandwidth(
    snapshot: Snapshot,
    scope: Annotated[str, Argument("Server, rack, domain or cluster.", metavar="SCOPE")],
    tool: Annotated[BandwidthTool, Argument("The tool that measures.", option="--for")] = BandwidthTool.NCCOM,
    cores_per_rank: Annotated[
        int, Argument("Physical cores of a rank (LNC)", minimum=1, maximum=_MAX_CORES, metavar="LNC")
    ] = 1,
    percent: Annotated[
        int | None, Argument("Also print this share of each limit as a minimum", minimum=1, maximum=100)
    ] = None,
) -> ExpectedBandwidthAnswer:
    """List how fast each server can be on the wiring as it is, with what is down, for health checks."""
    place = resolve_place(snapshot.connection, scope)
    best = _best_measurements(snapshot, place)
    facts, operations = dict[CitedFact, None](), list[ExpectedOperation]()
    for server in _read_servers(snapshot, place):
        limits = cast("CollectivesAnswer", find("collectives").function(snapshot, server.address))
        facts |= dict.fromkeys(limits.facts)
        ranks = limits.chips * _ranks_per_chip(snapshot, server, cores_per_rank)
        for name in _COLLECTIVES if limits.chips > 1 else ():
            limit = getattr(limits, name.replace("-", "_")).upper
            possible = [speed for speed in best.get((server.address, name, limits.chips), ()) if speed <= limit]
            operations.append(_expect_collective(server, name, limits.chips, limit, ranks, max(possible, default=None)))
        nics = snapshot.connection.scalars(select(_NIC.c.id).where(_NIC.c.server_id == server.id)).all()
        if nics:
            bandwidths = nic_bandwidths(snapshot, nics)
            operations += _expect_efa(server, list(filter(None, bandwidths.by_nic.values())))
            facts |= dict.fromkeys(evidence.cite_links(snapshot, bandwidths.link_models))
    if percent is not None:
        operations = [expected.with_minimum(percent) for expected in operations]
    return ExpectedBandwidthAnswer(
        scope=place.address,
        tool=tool,
        cores_per_rank=cores_per_rank,
        percent=percent,
        operations=tuple(operations),
        definition=_DEFINITION,
        facts=tuple(facts),
    )


def _read_servers(snapshot: Snapshot, place: Place) -> list[_Server]:
    """Return the servers of a place.

    Raises
    ------
    ScopeTooLargeError
        There are more than MAX_SERVERS.

    """
    connection = snapshot.connection
    query = select(_SERVER.c.id, address_expression("server").label("address")).select_from(join_containers("server"))
    rows = connection.execute(
        query.where(_SERVER.c.id.in_(row_ids_in(place, "server"))).order_by(_SERVER.c.id).limit(MAX_SERVERS + 1)
    ).all()
    if len(rows) > MAX_SERVERS:
        raise ScopeTooLargeError(f"{place.address} has more than {MAX_SERVERS} servers; name a domain or a rack")
    bound = bound_machines(connection, [row.address for row in rows])
    machines = {address: instance or host for address, instance, host in bound}
    return [_Server(row.id, row.address, machines.get(row.address)) for row in rows]


def _best_measurements(snapshot: Snapshot, place: Place) -> dict[tuple[str, str, int], list[int]]:
    """Return the measured bus bandwidths by server, operation and number of chips."""
    measured = defaultdict[tuple[str, str, int], list[int]](list)
    for row in read_measurements(snapshot.connection, place, _MAX_MEASUREMENTS)[0]:
        measured[row.address, row.operation, row.chips].append(row.bus_bandwidth)
    return measured


def _ranks_per_chip(snapshot: Snapshot, server: _Server, cores_per_rank: int) -> int:
    """Return how many ranks a chip has.

    Raises
    ------
    InvalidArgumentError
        The cores of a chip can't be divided into ranks of this size.

    """
    chip = select(_CHIP.c.id).where(_CHIP.c.server_id == server.id).limit(1).scalar_subquery()
    cores = snapshot.connection.scalar(select(func.count()).where(_CORE.c.chip_id == chip)) or 0
    ranks, remainder = divmod(cores, cores_per_rank)
    if remainder or not ranks:
        raise InvalidArgumentError(
            f"a chip of {server.address} has {cores} cores, which ranks of {cores_per_rank} do not fill; check "
            "--cores-per-rank"
        )
    return ranks


def _expect_collective(
    server: _Server, operation: str, chips: int, limit: Bandwidth, ranks: int, best: int | None
) -> ExpectedOperation:
    algorithm = Fraction(limit) / bus_factor(operation, chips)
    return ExpectedOperation(
        server.address,
        server.machine,
        operation,
        chips,
        limit,
        Bandwidth(algorithm),
        ranks,
        Bandwidth(algorithm * bus_factor(operation, ranks)),
        None,
        None if best is None else Bandwidth(best),
        _shortest_times(algorithm),
    )


def _expect_efa(server: _Server, speeds: Sequence[int]) -> Iterator[ExpectedOperation]:
    """Yield the limits of EFA devices that carry so many bytes per second each; nothing if there are none."""
    for operation, speed in ((_EFA, sum(speeds)), (_EFA_DEVICE, min(speeds))) if speeds else ():
        limit, times = Bandwidth(speed), _shortest_times(Fraction(speed))
        yield ExpectedOperation(
            server.address, server.machine, operation, len(speeds), limit, limit, None, None, None, None, times
        )


class NicBandwidths(NamedTuple):
    """What NICs carry in one direction, in bytes per second by node id, and the models of their links that are up."""

    by_nic: dict[int, int]
    link_models: set[str]


def nic_bandwidths(snapshot: Snapshot, nics: Sequence[int]) -> NicBandwidths:
    """Return what each NIC (its node id) carries; 0 if it or its links are down.

    That is the lesser of its links to chips together and, if the fabric is seeded, those into it.
    """
    wiring = snapshot.load(domains_of_nodes(snapshot.connection, nics), fabric=True)
    has_fabric = any(node["kind"] == "network_node" for node in wiring.nodes.values())
    bandwidths, models = dict[int, int](), set[str]()
    for nic in nics:
        sides = {"chip": 0} | ({"network_node": 0} if has_fabric else {})
        for neighbor, link in wiring.links.get(nic, {}).items():
            sides[wiring.nodes[neighbor]["kind"]] += link["capacity"]
            models.add(link["model"])
        bandwidths[nic] = min(sides.values())
    return NicBandwidths(bandwidths, models)


def _shortest_times(algorithm: Fraction) -> tuple[ShortestTime, ...]:
    if not algorithm:
        return ()
    return tuple(ShortestTime(size, Duration(ceil(size * 10**9 / algorithm))) for size in SIZES)
