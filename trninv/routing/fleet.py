"""Open a database for routing questions; each answer reads one snapshot."""

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
from trninv.database.as_of import engine_as_of as as_it_was
from trninv.database.engine import write_transaction
from trninv.database.revision import RevisionTracker
from trninv.database.snapshot import AsOf, SharedSnapshot, read_with_revision
from trninv.history.point_in_time import PointInTime, Time, resolve_point_in_time
from trninv.inventory.address.containment import chip_ids_of
from trninv.inventory.address.lookup import resolve_place
from trninv.inventory.state import bindings
from trninv.inventory.state.bindings import Binding, BindingChanges
from trninv.reconcile.findings import Finding, last_comparison_time, list_findings
from trninv.reconcile.latest_observations import pinned_binding
from trninv.routing.cached_domain import cached_only
from trninv.routing.evidence import ServerInstance, with_wiring_source
from trninv.routing.path_cache import PathCache
from trninv.routing.question import Question
from trninv.routing.questions import find
from trninv.routing.scenario import Scenario
from trninv.routing.wiring import domains_of_nodes, load_wiring
from trninv.routing.wiring_cache import SnapshotReader, WiringCache

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from trninv.catalog.instance_types import UnclaimedInstances
    from trninv.history.events import Event
    from trninv.routing.questions.availability import AvailabilityAnswer
    from trninv.routing.questions.bandwidth import BandwidthAnswer
    from trninv.routing.questions.bisection import BisectionAnswer
    from trninv.routing.questions.capability import CapabilityAnswer
    from trninv.routing.questions.collectives import CollectivesAnswer
    from trninv.routing.questions.cut_tree import CutTreeAnswer
    from trninv.routing.questions.diff import DiffAnswer
    from trninv.routing.questions.distances import DistanceAnswer
    from trninv.routing.questions.memory_placement import MemoryPlacementAnswer
    from trninv.routing.questions.path import PathAnswer
    from trninv.routing.questions.pool import PoolAnswer
    from trninv.routing.questions.split_profile import SplitProfileAnswer
    from trninv.routing.questions.sweep import SweepAnswer
    from trninv.routing.questions.timeline import TimelineAnswer
    from trninv.solvers.graph import Graph


A = TypeVar("A")
MAX_TIMES_CACHED = 16
"""Earlier times whose fleets, with their caches, are kept."""


class BaseFleet:
    """A trninv database opened for questions; thread-safe. Every question reads the current wiring.

    Each question is declared in a file of trninv/routing/questions with its parameters, their limits and its answer;
    docs/reference/questions.md lists them. The methods here add the types for Python.
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
    def revision_tracker(self) -> RevisionTracker:
        """Tracker of the database's revision."""
        return self._wiring_cache.tracker

    def revision(self) -> Hashable | None:
        """Return the revision: equal for equal states of the database; None if the database can't tell."""
        return self._wiring_cache.current_revision()

    def snapshot(self) -> Self:
        """Return a fleet that reads everything from one snapshot, which the first read opens and `close` ends.

        Concurrent reads are serialized if they can't get the same revision on connections of their own.
        """
        copied = copy(self)
        copied._snapshot = SharedSnapshot(self._wiring_cache.tracker)  # noqa: SLF001 # same class
        copied._present = self._present or self  # noqa: SLF001
        copied._wiring_cache = self._wiring_cache.in_snapshot(copied._snapshot)  # noqa: SLF001
        copied._path_cache = self._path_cache.with_wirings(copied._wiring_cache)  # noqa: SLF001
        return copied

    def as_of(self) -> AsOf | None:
        """Return the time and revision of the snapshot; None without a snapshot, or before its first read."""
        return self._snapshot.as_of if self._snapshot else None

    def read_with_revision(self, read: Callable[[], A]) -> tuple[A, AsOf]:
        """Run ``read``, which opens its own connection, and return its result with the time and revision that it saw.

        The revision is None if the database changed meanwhile.
        """
        return read_with_revision(self.revision_tracker, read)

    def read_separately(self, read: Callable[[], A]) -> A:
        """Run ``read``, which opens its own connection, and return its result.

        If the database has changed since the snapshot, the revision of `as_of` becomes None.
        """
        return self._snapshot.read_separately(read) if self._snapshot else read()

    def refresh(self) -> None:
        """Release the snapshot; the next read opens a new one."""
        if self._snapshot:
            self._snapshot.refresh()

    @contextmanager
    def connect(self) -> Iterator[Connection]:
        """Open a connection to read the tables."""
        with self._wiring_cache.open_reader() as reader:
            yield reader.connection

    def events(self, scope: str | None = None, *, limit: int = 50, **tests: Any) -> "tuple[Event, ...]":
        """Return the latest events of a place, of its contents and of the links that end there, newest first.

        Events of parts that followed their server's event are omitted.

        Parameters
        ----------
        scope
            A place or link; by default everything.
        limit
            Maximum number of events.
        tests
            Filters: the fields of `trninv.history.events.EventFilter`; or ``after``, the number of an event, for the
            first events after it, oldest first.

        Raises
        ------
        AddressError, UnknownAddressError, InvalidArgumentError, InvalidTimeError

        """
        from trninv.history.events import list_events  # noqa: PLC0415 # it imports the catalog, which questions don't need

        with self.connect() as connection:
            return tuple(list_events(connection, scope, limit=limit, **tests))

    @contextmanager
    def open_reader(self) -> Iterator[SnapshotReader]:
        """Open a reader of one snapshot, with the fleet's scenario applied."""
        with self._wiring_cache.open_reader() as reader:
            yield reader.with_scenario(self._scenario) if self._scenario else reader

    def close(self) -> None:
        """Close the database; a fleet of a scenario or earlier time does nothing, one of a snapshot ends only that."""
        if self._snapshot:
            self._snapshot.close()
            return
        if self._scenario is not None or self._present is not None:
            return
        for past in self._fleets_by_time.values():
            past._wiring_cache.close()  # noqa: SLF001 # same class
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
        """Return a fleet whose answers are for a scenario, with the unchanged fleet's answers as ``baseline``.

        Nothing is written. Closing the result leaves the database open. A scenario of a scenario combines both.

        Parameters
        ----------
        down
            Addresses of places and links that carry nothing; a single one needs no list.
        derate
            Addresses with the fraction, between 0 and 1, of their present capacity.
        with_
            Jobs with the places that are allocated to each; for questions about placement only.
        without
            Jobs that have ended; for questions about placement only.

        Raises
        ------
        InvalidArgumentError
            The scenario is empty or too large, or a factor is out of range. Unknown addresses and jobs raise an error
            only when a question is asked.

        """
        copied = copy(self)
        copied._scenario = Scenario.parse(down, derate, with_, without).merge(self._scenario)  # noqa: SLF001 # same class
        return copied

    def at(self, time: Time) -> Self:
        """Return the fleet as it was at an earlier time, or after an event: states, jobs and bindings.

        The caches of the last MAX_TIMES_CACHED times are kept for later calls. Closing the result leaves the database
        open.

        Parameters
        ----------
        time
            An ISO 8601 time with its zone ("2026-11-22T02:00:00Z"), an aware datetime, or the number of an event.

        Raises
        ------
        InvalidTimeError
            The time is malformed, in the future, or before the known history.

        """
        present = self._present or self
        with present.connect() as connection:
            point_in_time = resolve_point_in_time(connection, time)
        fleets = present._fleets_by_time  # noqa: SLF001 # same class
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
        """Answer a declared question, given its parameters in any form that `QuestionParameter.coerce` takes.

        Raises
        ------
        TrninvError
            A parameter is invalid, or the question has no answer.

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
                return replace(answer, baseline=baseline, wiring_source=baseline.wiring_source)
            return with_wiring_source(answer, reader, question.addresses(values))

    def cached_answer(
        self, question: Question, *, without_waiting: bool = False, **keywords: Any
    ) -> tuple[Any, AsOf] | None:
        """Return the answer to a declared question with the time and revision it is for, or None if it is not cached.

        Parameters
        ----------
        at_hand
            Return None rather than read or search to complete the cache, so that the event loop is not blocked.

        Raises
        ------
        TrninvError
            A parameter is invalid.

        """
        if self._scenario is not None or question.answer_from_cache is None:
            return None
        revision = (
            self.revision_tracker.current_if_cheap() if without_waiting else self._wiring_cache.current_revision()
        )
        if revision is None:
            return None
        cache, values = (
            self._path_cache.with_wirings(self._wiring_cache.at_revision(revision)),
            question.coerce_values(**keywords),
        )
        with cached_only() if without_waiting else nullcontext():
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
        """Find the k best paths from one place to another, by "hops", "bandwidth" or "time".

        Parameters
        ----------
        avoid
            Places and links to avoid.
        message
            Size of a message in bytes, or as text such as "1 MiB"; only by time.
        shape
            "best", "all", "link_disjoint" or "node_disjoint".
        via
            "scale_up" (default within a domain) or "any" (default across domains).
        or_from, or_to
            Alternative sources and targets; the best of all pairs are returned.

        """
        arguments = source, target, by, k, avoid, message, shape, via, or_from, or_to
        answer: PathAnswer = self.ask(find("path"), *arguments)
        return answer

    def bandwidth(self, source: str, target: str, via: str | None = None) -> "BandwidthAnswer":
        """Return the widest path, the maximum flow and the minimum cut between two places."""
        answer: BandwidthAnswer = self.ask(find("bandwidth"), source, target, via)
        return answer

    def memory_pool(
        self,
        scope: str,
        max_hops: int | None = None,
        min_bandwidth: int | str | None = None,
        via: str = "scale_up",
    ) -> "PoolAnswer":
        """Return the memory that a place reaches, optionally within ``max_hops`` or over paths of ``min_bandwidth``.

        A bandwidth is bytes per second, or text such as "64 GB/s".
        """
        answer: PoolAnswer = self.ask(find("pool"), scope, max_hops, min_bandwidth, via)
        return answer

    def bisection(self, scope: str, chips: Sequence[str] | str = (), *, transit: bool = False) -> "BisectionAnswer":
        """Return the least capacity between two halves of a scope's chips, or of the given ones of them.

        With ``transit``, other healthy chips of their domains may forward.
        """
        answer: BisectionAnswer = self.ask(find("bisection"), scope, chips, transit)
        return answer

    def split_profile(self, scope: str, chips: int | None = None) -> "SplitProfileAnswer":
        """Return the minimum cut between i chips and the rest, for each i up to half of a scope, or for one i."""
        answer: SplitProfileAnswer = self.ask(find("split_profile"), scope, chips)
        return answer

    def distances(self, scope: str, via: str | None = None) -> "DistanceAnswer":
        """Return diameter, mean and distribution of the hops between a scope's chips."""
        answer: DistanceAnswer = self.ask(find("distances"), scope, via)
        return answer

    def cut_tree(self, scope: str) -> "CutTreeAnswer":
        """Return the Gomory-Hu tree of a scope within a domain, and its worst connected pair of chips."""
        answer: CutTreeAnswer = self.ask(find("cut_tree"), scope)
        return answer

    def capability(self, scope: str) -> "CapabilityAnswer":
        """Return a domain's chips, idle links, largest memory pool, bisection and all-gather bandwidth."""
        answer: CapabilityAnswer = self.ask(find("capability"), scope)
        return answer

    def collectives(self, scope: str, chips: Sequence[str] | str = ()) -> "CollectivesAnswer":
        """Return the limits of the wiring on all-to-all, all-gather, reduce-scatter and all-reduce.

        The collectives run on all chips of a scope, or on the given ones of them.
        """
        answer: CollectivesAnswer = self.ask(find("collectives"), scope, chips)
        return answer

    def memory_placement(self, scope: str, memory: int | str, *, best: bool = True) -> "MemoryPlacementAnswer":
        """Return the fewest chips with this much memory around a place's best chip, or around the place itself.

        Memory is bytes, or text such as "1,024 GiB".
        """
        answer: MemoryPlacementAnswer = self.ask(find("memory_placement"), scope, memory, best)
        return answer

    def availability(
        self, scope: str, since: str | None = None, until: str | None = None, by: str = "kind"
    ) -> "AvailabilityAnswer":
        """Return share of time up, failures, and mean times between failures and to repair, of a place's parts.

        ``by`` groups the parts of each kind: "kind", "model", "rack" or "cluster".
        """
        answer: AvailabilityAnswer = self.ask(find("availability"), scope, since, until, by)
        return answer

    def diff(
        self,
        from_: Time,
        to: Time | None = None,
        scope: str | None = None,
        by: str = "place",
        limit: int = 1_000,
        skip: int = 0,
    ) -> "DiffAnswer":
        """Return what differs between two times, in a place or everywhere: states, jobs, cordons and bindings.

        ``by`` groups the states: "place", "kind" or "part". Parts that changed and changed back are only counted. Each
        list has up to ``limit`` lines after the first ``skip``.
        """
        answer: DiffAnswer = self.ask(find("diff"), from_, to, scope, by, limit, skip)
        return answer

    def timeline(
        self, scope: str, since: str | None = None, until: str | None = None, buckets: int = 60
    ) -> "TimelineAnswer":
        """Count a place's unhealthy parts by state, and the events, in each of ``buckets`` equal time intervals."""
        answer: TimelineAnswer = self.ask(find("timeline"), scope, since, until, buckets)
        return answer

    def sweep(
        self,
        scope: str,
        fail: str = "link",
        measure: str = "bisection",
        *,
        pairs: bool = False,
        limit: int = 2_000,
        executor: "Executor | None" = None,
        journal: Path | None = None,
        progress: Callable[[str, int, int], None] = lambda *_: None,
    ) -> "SweepAnswer":
        """Rank every failure of one part of a scope, or of two parts, by what it costs; the worst first.

        Parameters
        ----------
        fail
            "link", "chip" or "switch".
        pairs
            Fail every two parts together.
        limit
            Classes of failures that may be solved.
        executor
            Solves the failures; by default a process pool of its own.
        journal
            File that keeps each result, so that the same sweep can resume.
        progress
            Called with the name of the counted items, how many are done, and how many there are.

        """
        resources = {"executor": executor, "journal": journal, "progress": progress}
        answer: SweepAnswer = self.ask(find("sweep"), scope, fail, measure, pairs, limit, **resources)
        return answer

    def bindings(self, scope: str | None = None, *, include_ended: bool = False) -> tuple[Binding, ...]:
        """List the bindings of instances to slots in a server, rack, domain or cluster, or in all clusters.

        Parameters
        ----------
        ended
            Include bindings that have ended.

        """
        with self._wiring_cache.open_reader() as reader:
            place = None if scope is None else resolve_place(reader.connection, scope)
            return tuple(bindings.list_bindings(reader.connection, place, ended=include_ended))

    def instances(self, servers: Iterable[str]) -> tuple[ServerInstance, ...]:
        """Return the instance bound to each server, in the order of the servers' addresses."""
        with self._wiring_cache.open_reader() as reader:
            return tuple(ServerInstance(*row) for row in bindings.bound_machines(reader.connection, servers))

    def bind(self, slot: str, instance: str, *, who: str) -> BindingChanges:
        """Bind an instance, by its id or host name, to a slot; existing bindings of the slot end.

        Parameters
        ----------
        who
            The user to record.

        """
        with write_transaction(self.engine) as connection:
            return bindings.bind(connection, [pinned_binding(connection, slot, instance)], who=who)

    def unbind(self, slot: str, *, who: str) -> Binding:
        """End the binding of a slot, and return it."""
        with write_transaction(self.engine) as connection:
            return bindings.unbind(connection, slot, who=who)

    def drift(self, scope: str | None = None) -> list[Finding]:
        """List the findings of the last ``trninv drift``, the worst first: how observations differ from the design.

        Run ``trninv drift`` after imports: this method compares nothing.
        """
        with self._wiring_cache.open_reader() as reader:
            return list_findings(reader.connection, scope)

    def drift_compared_at(self) -> str | None:
        """Return the time of the last ``trninv drift`` (UTC), or None if it never ran."""
        with self._wiring_cache.open_reader() as reader:
            return last_comparison_time(reader.connection)

    def unclaimed_types(self) -> tuple["UnclaimedInstances", ...]:
        """Return the types of instances without a slot that match no model, as of the last ``trninv drift``."""
        from trninv.reconcile.drift_input import unclaimed_types  # noqa: PLC0415 # it needs the catalog's models

        with self._wiring_cache.open_reader() as reader:
            return unclaimed_types(reader.connection)

    def graph(self, scope: str) -> "Graph":
        """Return the wiring of a scope as a networkx graph, for notebooks; nodes are addresses and include NICs.

        Nodes have ``kind``, ``rack``, ``server``, ``memory`` (bytes) and ``position`` (torus coordinates); edges have
        ``bandwidth`` (bytes per second, one direction), ``model`` and ``technology``. Only parts that carry traffic are
        included.
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
