"""The questions, asked of a database: `Fleet` gives frozen answers for notebooks, the command line and GraphQL."""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from copy import copy
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from sqlalchemy import Connection, Engine

from trninv import solvers
from trninv.history.moment import PointInTime, Time, resolve_point_in_time
from trninv.inventory import binding
from trninv.inventory.address import chip_ids_of, resolve_place
from trninv.inventory.binding import Binding, BindingChanges
from trninv.inventory.database import write_transaction
from trninv.inventory.past import engine_as_of as as_it_was
from trninv.inventory.pinned import AsOf, SharedSnapshot, read_with_revision
from trninv.inventory.revision import RevisionTracker
from trninv.live.findings import Finding, last_comparison_time, list_findings
from trninv.live.pins import pinned_binding
from trninv.routing.basis import with_wiring_source
from trninv.routing.fabric_cache import PathCache, cached_only
from trninv.routing.question import Question
from trninv.routing.questions import find
from trninv.routing.scenario import Scenario
from trninv.routing.servers import StandingThere
from trninv.routing.wiring import SnapshotReader, WiringCache, domains_of_nodes, load_wiring

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from trninv.catalog.instance_types import UnclaimedType
    from trninv.history.events import Event
    from trninv.routing.questions.availability import AvailabilityAnswer
    from trninv.routing.questions.bandwidth import BandwidthAnswer
    from trninv.routing.questions.bisection import BisectionAnswer
    from trninv.routing.questions.capability import CapabilityAnswer
    from trninv.routing.questions.collectives import CollectivesAnswer
    from trninv.routing.questions.cut_tree import CutTreeAnswer
    from trninv.routing.questions.diff import DiffAnswer
    from trninv.routing.questions.distances import DistanceAnswer
    from trninv.routing.questions.path import PathAnswer
    from trninv.routing.questions.placement import PlacementAnswer
    from trninv.routing.questions.pool import PoolAnswer
    from trninv.routing.questions.split_profile import ProfileAnswer
    from trninv.routing.questions.sweep import SweepAnswer
    from trninv.routing.questions.timeline import TimelineAnswer
    from trninv.solvers.graph import Graph


A = TypeVar("A")
MAX_TIMES_CACHED = 16
"""Moments of which it is remembered what was found."""


class Fleet:
    """A database of trninv, open for questions. Thread safe; every question reads the wiring as it is.

    Each question is declared in a file of trninv/routing/questions, with its parameters, their limits and its answer;
    docs/reference/questions.md has them all. The methods here give them their types in Python.
    """

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._wiring_cache = WiringCache(engine)
        self._path_cache = PathCache(self._wiring_cache)
        self._scenario: Scenario | None = None
        self._snapshot: SharedSnapshot | None = None
        self._present: Self | None = None
        self._fleets_by_time = OrderedDict[PointInTime, Self]()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def watched(self) -> RevisionTracker:
        """What tells the database's states apart."""
        return self._wiring_cache.tracker

    def revision(self) -> Hashable | None:
        """Equal for equal states of the database; None where they can't be told apart."""
        return self._wiring_cache.current_revision()

    def in_one_state(self) -> Self:
        """The same fleet, of which everything is read from one state: that of the first reading, until it is closed.

        What reads through it at the same time takes turns.
        """
        copied = copy(self)
        copied._snapshot = SharedSnapshot(self._wiring_cache.tracker)  # noqa: SLF001 # its own
        copied._present = self._present or self  # noqa: SLF001
        copied._wiring_cache = self._wiring_cache.in_snapshot(copied._snapshot)  # noqa: SLF001
        copied._path_cache = self._path_cache.with_wirings(copied._wiring_cache)  # noqa: SLF001
        return copied

    def as_of(self) -> AsOf | None:
        """The one state that was read; None where nothing was yet, or in many."""
        return self._snapshot.as_of if self._snapshot else None

    def stamped(self, read: Callable[[], A]) -> tuple[A, AsOf]:
        """What one statement on a connection of its own finds, and of which state if that was the same throughout."""
        return read_with_revision(self.watched, read)

    def beside(self, read: Callable[[], A]) -> A:
        """What a connection of its own finds; the one state is told without its revision if that may be another."""
        return self._snapshot.read_separately(read) if self._snapshot else read()

    def renew(self) -> None:
        """Let the one state go: the next reading sees what is written until then."""
        if self._snapshot:
            self._snapshot.refresh()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection for looking at the tables."""
        with self._wiring_cache.open_reader() as reader:
            yield reader.connection

    def events(self, scope: str | None = None, *, most: int = 50, **tests: Any) -> "tuple[Event, ...]":
        """The latest events of a place, of all it holds and of the links that end there, newest first.

        What a server took along is left out beside the server's own event.

        Parameters
        ----------
        most
            How many.
        tests
            since, until, kind, who, why, source, batch, as `trninv.history.events.Wanted` has them; after: the number
            of an event, for the first ones after it, oldest first.

        Raises
        ------
        AddressError, UnknownAddressError, LimitError, MomentError

        """
        from trninv.history.events import list_events  # noqa: PLC0415 # it knows the catalog, which questions need not read

        with self.reading() as connection:
            return tuple(list_events(connection, scope, limit=most, **tests))

    @contextmanager
    def wirings(self) -> Iterator[SnapshotReader]:
        """What reads wirings of one state, as they are or are supposed to be."""
        with self._wiring_cache.open_reader() as reader:
            yield reader.with_scenario(self._scenario) if self._scenario else reader

    def close(self) -> None:
        """Close the database; that of a scenario, of one state or of a moment is its fleet's, and stays open."""
        if self._snapshot:
            self._snapshot.close()
            return
        if self._scenario is not None or self._present is not None:
            return
        for past in self._fleets_by_time.values():
            past._wiring_cache.close()  # noqa: SLF001 # its own
        self._wiring_cache.close()
        self.engine.dispose()

    def what_if(
        self,
        down: Sequence[str] | str = (),
        derate: Mapping[str, float | Fraction] | None = None,
        *,
        with_: Mapping[str, Sequence[str] | str] | None = None,
        without: Sequence[str] | str = (),
    ) -> Self:
        """The same questions on a changed wiring; their answers have the unchanged one's as ``baseline``.

        Nothing is written. The database stays open when the result is closed.

        Parameters
        ----------
        down
            Addresses of places and links that carry nothing; one may stand alone.
        derate
            Address and the part, between 0 and 1, of what it carries now.
        with_
            Jobs and the places that each would hold; questions about placement only.
        without
            Jobs that would have ended.

        Raises
        ------
        LimitError
            Nothing supposed, too much, or a factor out of range. Unknown addresses and jobs are told when a question is
            asked.

        """
        copied = copy(self)
        copied._scenario = Scenario.parse(down, derate, with_, without).merge(self._scenario)  # noqa: SLF001 # its own
        return copied

    def at(self, time: Time) -> Self:
        """The same questions of the fleet as it was: states, jobs and bindings at a time, or after an event.

        What was found of a moment is remembered for the next ones who ask of it. The database stays open when the
        result is closed.

        Parameters
        ----------
        time
            An ISO time with its zone ("2026-11-22T02:00:00Z"), a datetime that has one, or the number of an event.

        Raises
        ------
        MomentError
            It is none, or yet to come, or history is not known for so long.

        """
        present = self._present or self
        with present.reading() as connection:
            point_in_time = resolve_point_in_time(connection, time)
        fleets = present._fleets_by_time  # noqa: SLF001 # its own
        if (past := fleets.pop(point_in_time, None)) is None:
            past = type(present)(as_it_was(self.engine, point_in_time.event, point_in_time.time, point_in_time.omitted))
            past._present = present  # noqa: SLF001
        fleets[point_in_time] = past
        if len(fleets) > MAX_TIMES_CACHED:
            fleets.popitem(last=False)[1]._wiring_cache.close()  # noqa: SLF001
        if self._scenario is None:
            return past
        copied = copy(past)
        copied._scenario = self._scenario  # noqa: SLF001
        return copied

    def ask(self, question: Question, *arguments: Any, **keywords: Any) -> Any:
        """Ask a declared question.

        Raises
        ------
        TrninvError
            As the question says.

        """
        values = question.coerce_values(*arguments, **keywords)
        if (
            self._scenario is None
            and question.answer_from_cache
            and (cached := question.answer_from_cache(self._path_cache, **values))
        ):
            return cached
        with self._wiring_cache.open_reader() as reader:
            if self._scenario is None:
                return with_wiring_source(question.function(reader, **values), reader, question.addresses(values))
            answer = question.function(reader.with_scenario(self._scenario), **values)
            if question.has_baseline:
                baseline = with_wiring_source(question.function(reader, **values), reader, question.addresses(values))
                return replace(answer, baseline=baseline, basis=baseline.basis)
            return with_wiring_source(answer, reader, question.addresses(values))

    def known(self, question: Question, *, at_hand: bool = False, **keywords: Any) -> tuple[Any, AsOf] | None:
        """The answer to a declared question from what is remembered, and of which state it is; None where it is not.

        Parameters
        ----------
        at_hand
            Only where nothing is waited for: no reading, no search.

        Raises
        ------
        TrninvError
            As the question says.

        """
        if self._scenario is not None or question.answer_from_cache is None:
            return None
        revision = self.watched.current_if_cheap() if at_hand else self._wiring_cache.current_revision()
        if revision is None:
            return None
        cache, values = (
            self._path_cache.with_wirings(self._wiring_cache.at_revision(revision)),
            question.coerce_values(**keywords),
        )
        with cached_only() if at_hand else nullcontext():
            answer = question.answer_from_cache(cache, **values)
        return None if answer is None else (answer, AsOf.latest(revision))

    def path(
        self,
        source: str,
        target: str,
        by: str = "hops",
        k: int = 1,
        avoid: Sequence[str] | str = (),
        *,
        message: int | str = 0,
        shape: str = "best",
        via: str | None = None,
        or_from: Sequence[str] | str = (),
        or_to: Sequence[str] | str = (),
    ) -> "PathAnswer":
        """How to get from one place to another: the k best paths by "hops", "bandwidth" or "time".

        ``message`` (bytes, or "1 MiB") counts by time; ``shape`` is "best", "all", "link_disjoint" or "node_disjoint";
        ``via`` is "scale_up" or "any": by default the first within a domain, the second across domains. ``or_from``
        and ``or_to`` are other places to begin or end at; the best of all pairs are found.
        """
        arguments = source, target, by, k, avoid, message, shape, via, or_from, or_to
        answer: PathAnswer = self.ask(find("path"), *arguments)
        return answer

    def bandwidth(self, source: str, target: str, via: str | None = None) -> "BandwidthAnswer":
        """What flows between two places: widest path, maximum flow, minimum cut."""
        answer: BandwidthAnswer = self.ask(find("bandwidth"), source, target, via)
        return answer

    def memory_pool(
        self,
        of: str,
        max_hops: int | None = None,
        min_bandwidth: int | str | None = None,
        via: str = "scale_up",
    ) -> "PoolAnswer":
        """How much memory a place reaches: within ``max_hops``, over paths of ``min_bandwidth`` (or "64 GB/s")."""
        answer: PoolAnswer = self.ask(find("pool"), of, max_hops, min_bandwidth, via)
        return answer

    def bisection(self, of: str, chips: Sequence[str] | str = (), *, transit: bool = False) -> "BisectionAnswer":
        """The least capacity between two halves of a scope, or of the chips named within it."""
        answer: BisectionAnswer = self.ask(find("bisection"), of, chips, transit)
        return answer

    def profile(self, of: str, chips: int | None = None) -> "ProfileAnswer":
        """For each i up to half of a scope's chips the least capacity that parts i of them from the others."""
        answer: ProfileAnswer = self.ask(find("split_profile"), of, chips)
        return answer

    def distances(self, of: str, via: str | None = None) -> "DistanceAnswer":
        """Diameter, mean and distribution of the hops between a scope's chips."""
        answer: DistanceAnswer = self.ask(find("distances"), of, via)
        return answer

    def cut_tree(self, of: str) -> "CutTreeAnswer":
        """The Gomory-Hu tree of a scope within a domain, and its worst connected pair of chips."""
        answer: CutTreeAnswer = self.ask(find("cut_tree"), of)
        return answer

    def capability(self, of: str) -> "CapabilityAnswer":
        """What a domain can do: chips, idle links, largest memory pool, bisection and all-gather bandwidth."""
        answer: CapabilityAnswer = self.ask(find("capability"), of)
        return answer

    def collectives(self, of: str, chips: Sequence[str] | str = ()) -> "CollectivesAnswer":
        """What the wiring allows all-to-all, all-gather, reduce-scatter and all-reduce at most.

        Of a scope's chips, or of those named within it.
        """
        answer: CollectivesAnswer = self.ask(find("collectives"), of, chips)
        return answer

    def placement(self, of: str, memory: int | str, *, best: bool = True) -> "PlacementAnswer":
        """The fewest chips that hold so much memory (bytes, or "1,024 GiB") around a place, or around its best chip."""
        answer: PlacementAnswer = self.ask(find("placement"), of, memory, best)
        return answer

    def availability(
        self, of: str, since: str | None = None, until: str | None = None, by: str = "kind"
    ) -> "AvailabilityAnswer":
        """Share of time up, failures, mean time between failures and to repair of a place's parts.

        ``by`` is "kind", "model", "rack" or "cluster": which parts of a kind are one group.
        """
        answer: AvailabilityAnswer = self.ask(find("availability"), of, since, until, by)
        return answer

    def diff(
        self,
        from_: Time,
        to: Time | None = None,
        of: str | None = None,
        by: str = "place",
        most: int = 1_000,
        skip: int = 0,
    ) -> "DiffAnswer":
        """What differs between two times, of a place or of everything: states by "place", "kind" or "part", and jobs.

        What changed and changed back is only counted.
        """
        answer: DiffAnswer = self.ask(find("diff"), from_, to, of, by, most, skip)
        return answer

    def timeline(
        self, of: str, since: str | None = None, until: str | None = None, buckets: int = 60
    ) -> "TimelineAnswer":
        """How many parts of a place were not up, by state, in each part of a time, and how much changed there."""
        answer: TimelineAnswer = self.ask(find("timeline"), of, since, until, buckets)
        return answer

    def sweep(
        self,
        of: str,
        fail: str = "link",
        measure: str = "bisection",
        *,
        pairs: bool = False,
        most: int = 2_000,
        executor: "Executor | None" = None,
        journal: Path | None = None,
        progress: Callable[[str, int, int], None] = lambda *_: None,
    ) -> "SweepAnswer":
        """Every failure of one thing in a scope within a domain, or of two, ranked by damage.

        Parameters
        ----------
        executor
            Where to solve them; processes of one's own by default.
        journal
            A file that keeps each result as it comes; the same sweep begun again goes on from it.
        progress
            Called with what is counted, how many are done, and of how many.

        """
        resources = {"executor": executor, "journal": journal, "progress": progress}
        answer: SweepAnswer = self.ask(find("sweep"), of, fail, measure, pairs, most, **resources)
        return answer

    def bindings(self, scope: str | None = None, *, ended: bool = False) -> tuple[Binding, ...]:
        """Which instances stand in which slots of a server, rack, domain, cluster or of all, since when and why.

        Parameters
        ----------
        ended
            Whether those that are over are there too.

        """
        with self._wiring_cache.open_reader() as reader:
            place = None if scope is None else resolve_place(reader.connection, scope)
            return tuple(binding.list_bindings(reader.connection, place, ended=ended))

    def standing(self, servers: Iterable[str]) -> tuple[StandingThere, ...]:
        """What stands in servers, in the order of their addresses."""
        with self._wiring_cache.open_reader() as reader:
            return tuple(StandingThere(*row) for row in binding.bound_machines(reader.connection, servers))

    def bind(self, slot: str, instance: str, *, who: str) -> BindingChanges:
        """Say which instance, by its id or its host's name, stands in a slot; what stood there before ends.

        Parameters
        ----------
        who
            Who says so.

        """
        with write_transaction(self.engine) as connection:
            return binding.bind(connection, [pinned_binding(connection, slot, instance)], who=who)

    def unbind(self, slot: str, *, who: str) -> Binding:
        """Say that nothing stands in a slot, and what did."""
        with write_transaction(self.engine) as connection:
            return binding.unbind(connection, slot, who=who)

    def drift(self, scope: str | None = None) -> list[Finding]:
        """Where what machines reported differs from the design, as it did at ``compared_at``, the worst first.

        Nothing is compared here: run ``trninv drift`` after imports.
        """
        with self._wiring_cache.open_reader() as reader:
            return list_findings(reader.connection, scope)

    def compared_at(self) -> str | None:
        """When ``trninv drift`` last compared what machines reported with the design (UTC); None: never."""
        with self._wiring_cache.open_reader() as reader:
            return last_comparison_time(reader.connection)

    def unclaimed_types(self) -> tuple["UnclaimedType", ...]:
        """Return the instance types that no model claims, of machines in no slot, as when drift last compared."""
        from trninv.live.picture import unclaimed_types  # noqa: PLC0415 # it needs the catalog's models

        with self._wiring_cache.open_reader() as reader:
            return unclaimed_types(reader.connection)

    def graph(self, scope: str) -> "Graph":
        """The wiring of a scope as a networkx graph, for notebooks: nodes are addresses, NICs included.

        Returns
        -------
        Nodes have ``kind``, ``rack``, ``server``, ``memory`` (bytes) and ``position`` (torus coordinates); edges
        ``bandwidth`` (bytes per second, one direction), ``model`` and ``technology``. What is down is left out.

        """
        with self._wiring_cache.open_reader() as base_reader:
            reader = base_reader.with_scenario(self._scenario) if self._scenario else base_reader
            chips = set(reader.connection.scalars(chip_ids_of(resolve_place(reader.connection, scope))))
            domains = domains_of_nodes(reader.connection, chips)
            loaded = load_wiring(reader.connection, domains, nics=True, fabric=len(domains) > 1).with_scenario(
                reader.changes
            )
        wiring = loaded.graph
        neighbors = {neighbor for chip in chips if chip in wiring for neighbor in wiring[chip]}
        kind_of = {node: attributes["kind"] for node, attributes in wiring.nodes(data=True)}
        fabric = {node for node in wiring if kind_of[node] == "network_node"}
        kept_graph = wiring.subgraph(
            chips | fabric | {neighbor for neighbor in neighbors if kind_of[neighbor] != "chip"}
        )
        graph = solvers.graph.Graph()
        for _, node in kept_graph.nodes(data=True):
            graph.add_node(
                node["address"],
                **{key: node[key] for key in ("kind", "rack", "server", "memory", "position")},
            )
        for a, b, edge in kept_graph.edges(data=True):
            endpoints = kept_graph.nodes[a]["address"], kept_graph.nodes[b]["address"]
            graph.add_edge(*endpoints, bandwidth=edge["capacity"], model=edge["model"], technology=edge["technology"])
        return graph
