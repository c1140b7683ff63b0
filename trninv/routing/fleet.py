"""The questions, asked of a database: `Fleet` gives frozen answers for notebooks, the command line and GraphQL."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from enum import StrEnum
from fractions import Fraction
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeVar

from sqlalchemy import Engine

from trninv.errors import LimitError
from trninv.inventory.address import Address, chips_of, parse, resolve
from trninv.routing.between import ACROSS, DISJOINT, PATH, bandwidth_answer, path_answer
from trninv.routing.express import Express
from trninv.routing.paths import Rule
from trninv.routing.results import Answer, BandwidthAnswer, BisectionAnswer, Metric, PathAnswer, PoolAnswer, Shape
from trninv.routing.scenario import Scenario, listed
from trninv.routing.surveys import (
    CollectivesAnswer,
    CutTreeAnswer,
    DistanceAnswer,
    PlacementAnswer,
    ProfileAnswer,
    SweepAnswer,
)
from trninv.routing.wiring import Reader, Wirings, domains_of, load
from trninv.settings import Settings
from trninv.units import Bandwidth, Capacity

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from trninv.routing.graph import Graph

MAX_PATHS = 100
"""Paths that one question may ask for."""

MAX_CLASSES = 2_000
"""Classes of failures that a sweep solves unless told to."""

MOST_MEMORY = 2**63

MAX_MESSAGE = 2**50
"""Bytes of one message."""

A = TypeVar("A", bound=Answer)
E = TypeVar("E", bound=StrEnum)


def _choice(kind: type[E], name: str, value: str) -> E:
    if value.upper() not in kind.__members__:
        raise LimitError(f"{name} {value!r}: choose {' or '.join(kind).lower()}")
    return kind(value.upper())


class Fleet:
    """A database of trninv, open for questions. Thread safe; every question reads the wiring as it is."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._wirings = Wirings(engine)
        self._express = Express(self._wirings)
        self._scenario: Scenario | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def revision(self) -> Hashable | None:
        """Equal for equal states of the database; None where they can't be told apart."""
        return self._wirings.revision.current()

    def close(self) -> None:
        if self._scenario is not None:
            return  # the database is another's
        self._wirings.close()
        self.engine.dispose()

    def what_if(self, down: Sequence[str] | str = (), derate: Mapping[str, float | Fraction] | None = None) -> "Fleet":
        """The same questions on a changed wiring; their answers have the unchanged one's as ``baseline``.

        Nothing is written. The database stays open when the result is closed.

        Parameters
        ----------
        down
            Addresses of places and links that carry nothing; one may stand alone.
        derate
            Address and the part, between 0 and 1, of what it carries now.

        Raises
        ------
        LimitError
            Nothing supposed, too much, or a factor out of range. Unknown addresses are told when a question is asked.

        """
        changed = copy(self)
        changed._scenario = Scenario.of(down, derate).beside(self._scenario)  # noqa: SLF001 # its own
        return changed

    def path(  # all but the places have a default
        self,
        source: str,
        target: str,
        by: str = "hops",
        k: int = 1,
        avoid: Sequence[str] | str = (),
        *,
        message: int = 0,
        shape: str = "best",
    ) -> PathAnswer:
        """The k best paths between two places; servers, racks and domains stand for all their chips.

        Parameters
        ----------
        by
            "hops", "bandwidth" or "time".
        k
            1 to MAX_PATHS.
        avoid
            Addresses of places and links that no path may touch; one may stand alone.
        message
            Bytes that are to be sent, for "time".
        shape
            "best"; "all", the graph of all that are as good as the best beside; "link_disjoint" or "node_disjoint",
            by hops: k that share no link or no node, as many as there are for k = 1.

        Raises
        ------
        LimitError, AddressError, UnknownAddressError, WrongLevelError

        """
        metric, form = _choice(Metric, "by", by), _choice(Shape, "shape", shape)
        if not 1 <= k <= MAX_PATHS:
            raise LimitError(f"{k} paths: ask for 1 to {MAX_PATHS}")
        if (message and metric is not Metric.TIME) or not 0 <= message <= MAX_MESSAGE:
            raise LimitError(f"a message of 0 to {MAX_MESSAGE:,} bytes counts for paths by time")
        if form in DISJOINT and metric is not Metric.HOPS:
            raise LimitError("disjoint paths are by hops")
        plain = k == 1 and not avoid and form is Shape.BEST and self._scenario is None
        if plain and (known := self._known_path(parse(source), parse(target), metric)):
            return known
        rule, clear_of = Rule(metric, message), listed(avoid)
        return self._ask(lambda reader: path_answer(reader, source, target, rule, k=k, avoid=clear_of, shape=form))

    def bandwidth(self, source: str, target: str) -> BandwidthAnswer:
        """Widest path, maximum flow and minimum cut between two places.

        Raises
        ------
        SamePlaceError
            One place holds chips of the other.

        """
        return self._ask(partial(bandwidth_answer, source=source, target=target))

    def memory_pool(self, of: str, max_hops: int | None = None, min_bandwidth: int | str | None = None) -> PoolAnswer:
        """Memory within reach of a place.

        Parameters
        ----------
        max_hops
            Chips further away are left out.
        min_bandwidth
            Chips whose widest path carries less are left out: bytes per second, one direction, or "64 GB/s".

        """
        from trninv.routing.pool import pool_answer  # noqa: PLC0415 # networkx is slow to import, a path does without

        least = Bandwidth.parse(min_bandwidth) if isinstance(min_bandwidth, str) else min_bandwidth or 0
        if (max_hops is not None and max_hops < 0) or least < 0:
            raise LimitError("hops and bandwidth of a pool are 0 or more")
        return self._ask(partial(pool_answer, of=of, max_hops=max_hops, least=least))

    def bisection(self, scope: str, chips: Sequence[str] | str = (), *, transit: bool = False) -> BisectionAnswer:
        """Bisection bandwidth of a scope, or of the chips named within it, with the cut that shows it.

        Parameters
        ----------
        transit
            Let other healthy chips of their domains forward; otherwise only links among the scope's chips count.

        """
        from trninv.routing.halves import bisection_answer  # noqa: PLC0415 # so are numpy and scipy

        return self._ask(partial(bisection_answer, scope=scope, chips=listed(chips), transit=transit))

    def profile(self, scope: str) -> ProfileAnswer:
        """For each i up to half of a scope's chips the least capacity that parts i of them from the others."""
        from trninv.routing.profile import profile_answer  # noqa: PLC0415

        return self._ask(partial(profile_answer, of=scope))

    def distances(self, scope: str) -> DistanceAnswer:
        """Diameter, mean and distribution of the hops between a scope's chips."""
        from trninv.routing.distance import distance_answer  # noqa: PLC0415

        return self._ask(partial(distance_answer, of=scope))

    def cut_tree(self, scope: str) -> CutTreeAnswer:
        """The Gomory-Hu tree of a scope within a domain, and its worst connected pair of chips."""
        from trninv.routing.cuttree import cut_tree_answer  # noqa: PLC0415

        return self._ask(partial(cut_tree_answer, of=scope))

    def collectives(self, scope: str) -> CollectivesAnswer:
        """What the wiring allows all-to-all, all-gather, reduce-scatter and all-reduce of a scope's chips at most."""
        from trninv.routing.collectives import collectives_answer  # noqa: PLC0415

        return self._ask(partial(collectives_answer, of=scope))

    def placement(self, of: str, memory: int | str, *, best: bool = False) -> PlacementAnswer:
        """The fewest chips that hold so much memory around a place, or around the best chip of a scope.

        Parameters
        ----------
        memory
            Bytes, or "1,024 GiB".
        best
            Look for the chip of the scope where they are nearest.

        """
        from trninv.routing.placement import placement_answer  # noqa: PLC0415

        wanted = Capacity.parse(memory) if isinstance(memory, str) else Capacity(memory)
        if not 0 < wanted < MOST_MEMORY:
            raise LimitError(f"ask for 1 to {MOST_MEMORY - 1:,} bytes")
        return self._ask(partial(placement_answer, of=of, wanted=wanted, best=best))

    def sweep(  # all but the scope have a default
        self,
        scope: str,
        fail: str = "link",
        measure: str = "bisection",
        *,
        pairs: bool = False,
        most: int = MAX_CLASSES,
        executor: "Executor | None" = None,
        journal: Path | None = None,
        progress: "Callable[[str, int, int], None]" = lambda *_: None,
    ) -> SweepAnswer:
        """Every failure of one thing in a scope within a domain, or of two, ranked by damage; no baseline beside.

        Parameters
        ----------
        fail
            "link", "chip" or "switch".
        measure
            "bisection", "nominal", "all_gather", "all_to_all", "worst_flow" or "diameter".
        most
            Classes of failures that may be solved.
        executor
            Where to solve them; processes of one's own by default.
        journal
            A file that keeps each result as it comes; the same sweep begun again goes on from it.
        progress
            Called with what is counted, how many are done, and of how many.

        """
        from trninv.routing.sweep import Fail, Measure, sweep_answer  # noqa: PLC0415

        kinds = _choice(Fail, "fail", fail), _choice(Measure, "measure", measure.replace("-", "_"))
        seconds = Settings.load().bisection_seconds

        def ask(reader: Reader) -> SweepAnswer:
            return sweep_answer(
                reader,
                scope,
                *kinds,
                pairs=pairs,
                most=most,
                seconds=seconds,
                executor=executor,
                journal=journal,
                progress=progress,
            )

        with self._wirings.reading() as reader:
            return ask(reader.supposing(self._scenario) if self._scenario else reader)

    def graph(self, scope: str) -> "Graph":
        """The wiring of a scope as a networkx graph, for notebooks: nodes are addresses, NICs included.

        Returns
        -------
        Nodes have ``kind``, ``rack``, ``server``, ``memory`` (bytes) and ``position`` (torus coordinates); edges
        ``bandwidth`` (bytes per second, one direction), ``model`` and ``technology``. What is down is left out.

        """
        from trninv.routing.graph import Graph  # noqa: PLC0415 # networkx is slow to import, a path does without

        with self._wirings.reading() as state:
            reader = state.supposing(self._scenario) if self._scenario else state
            chips = set(reader.connection.scalars(chips_of(resolve(reader.connection, scope))))
            domains = domains_of(reader.connection, chips)
            whole = load(reader.connection, domains, nics=True, fabric=len(domains) > 1).changed(reader.changes)
        wiring = whole.graph
        beside = {near for chip in chips if chip in wiring for near in wiring[chip]}
        kind = {node: of["kind"] for node, of in wiring.nodes(data=True)}
        fabric = {node for node in wiring if kind[node] == "network_node"}
        kept = wiring.subgraph(chips | fabric | {near for near in beside if kind[near] != "chip"})
        named = Graph()
        for _, node in kept.nodes(data=True):
            named.add_node(
                node["address"],
                **{key: node[key] for key in ("kind", "rack", "server", "memory", "position")},
            )
        for a, b, edge in kept.edges(data=True):
            ends = kept.nodes[a]["address"], kept.nodes[b]["address"]
            named.add_edge(*ends, bandwidth=edge["capacity"], model=edge["model"], technology=edge["technology"])
        return named

    def _ask(self, ask: Callable[[Reader], A]) -> A:
        with self._wirings.reading() as reader:
            if self._scenario is None:
                return ask(reader)
            return replace(ask(reader.supposing(self._scenario)), baseline=ask(reader))

    def _known_path(self, source: Address, target: Address, metric: Metric) -> PathAnswer | None:
        if (found := self._express.path(source, target, metric)) is None:
            return None
        path, equally_good, facts = found
        return PathAnswer(
            metric=metric,
            source=str(source),
            target=str(target),
            reachable=True,
            equally_good=equally_good,
            reason=None,
            paths=(path,),
            definition=PATH[metric] + ACROSS,
            facts=facts,
            truncated=equally_good > 1,
        )
