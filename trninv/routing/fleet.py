"""Open a database for questions about its wiring and history; each answer reads one snapshot.

`trninv.placement.placement_fleet.Fleet` adds the questions about placement. The command line, the GraphQL service and
notebooks all ask through that class.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from datetime import datetime
from fractions import Fraction
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from sqlalchemy import Connection, Engine

from trninv.database.engine import close_engine
from trninv.database.revision import RevisionTracker, revision_id
from trninv.database.snapshot import AsOf
from trninv.errors import AddressError
from trninv.history.point_in_time import Time
from trninv.inventory.address.lookup import only_cluster, resolve, resolve_place
from trninv.inventory.state import bindings
from trninv.inventory.state.bindings import Binding
from trninv.routing.answer_display import with_origin
from trninv.routing.evidence import ServerInstance, with_wiring_source
from trninv.routing.notebook_methods import NotebookMethods
from trninv.routing.path_cache import PathCache
from trninv.routing.question import Question
from trninv.routing.question_methods import reading
from trninv.routing.revision_cache import cached_only
from trninv.routing.routing_methods import RoutingMethods
from trninv.routing.scenario import Scenario
from trninv.routing.snapshot import EarlierSources, Snapshot, SnapshotSource
from trninv.routing.tabular import RowList

if TYPE_CHECKING:
    from trninv.catalog.instance_types import UnclaimedType
    from trninv.history.events import Event
    from trninv.reconcile.findings import Finding


A = TypeVar("A")


class BaseFleet(NotebookMethods, RoutingMethods):
    """A trninv database opened for questions; thread-safe.

    Every question reads the current state, unless the fleet is derived: of a snapshot, a scenario or an earlier time.
    Each question is declared in a file of trninv/routing/questions with its parameters, their limits and its answer;
    docs/reference/questions.md lists them.
    """

    def __init__(
        self, engine: Engine, *, source: SnapshotSource | None = None, earlier: EarlierSources | None = None
    ) -> None:
        """Open the latest state; only derived fleets pass ``source`` and ``earlier``."""
        self.engine = engine
        self._source = source or SnapshotSource.from_engine(engine)
        self._earlier = earlier or EarlierSources(self._source)
        self._is_derived = earlier is not None

    def _derive(self, source: SnapshotSource) -> Self:
        """Return a fleet that takes its snapshots of the same database from another source."""
        return type(self)(source.tracker.engine, source=source, earlier=self._earlier)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def revision_tracker(self) -> RevisionTracker:
        """Tracker of the database's revision."""
        return self._source.tracker

    def revision(self) -> Hashable | None:
        """Return the revision, which is equal for equal states of the database; None if the database can't tell."""
        return self._source.revision()

    def snapshot(self) -> Self:
        """Return a fleet that reads everything from one snapshot, which the first read opens and `close` ends.

        Concurrent reads are serialized if they can't get the same revision on connections of their own.
        """
        return self._derive(self._source.share())

    def as_of(self) -> AsOf | None:
        """Return the time and revision of the snapshot; None without a snapshot, or before its first read."""
        return self._source.shared.as_of if self._source.shared else None

    def refresh(self) -> None:
        """Release the snapshot; the next read opens a new one."""
        if self._source.shared:
            self._source.shared.refresh()

    @contextmanager
    def connect(self) -> Iterator[Connection]:
        """Open a connection to read the tables."""
        with self._source.open_without_scenario() as snapshot:
            yield snapshot.connection

    def call_reading(self, method: Callable[..., A], *arguments: Any, **keywords: Any) -> A:
        """Run a method that is marked as a reading; a service's fleet sends it to the service."""
        return method(self, *arguments, **keywords)

    @reading
    def events(
        self,
        scope: str | None = None,
        *,
        limit: int = 50,
        after: int | None = None,
        since: str | datetime | None = None,
        until: str | datetime | None = None,
        kind: str | None = None,
        action: str | None = None,
        job: str | None = None,
        who: str | None = None,
        why: str | None = None,
        source: str | None = None,
        batch: int | None = None,
        states_only: bool = False,
    ) -> "RowList[Event]":
        """Return the latest events of a place, of everything in it and of the links that end there, newest first.

        Events of parts that followed their server's event are omitted.

        Parameters
        ----------
        scope
            A place or link; by default everything.
        limit
            Maximum number of events.
        after
            The number of an event, for the first events after it, oldest first.
        since, until, kind, action, job, who, why, source, batch, states_only
            Fields of `trninv.history.events.EventFilter`.

        Raises
        ------
        AddressError, UnknownAddressError, InvalidArgumentError, InvalidTimeError

        """
        from trninv.history.events import Event, list_events  # noqa: PLC0415 # it imports the catalog, which questions don't need

        filters = {
            "since": since,
            "until": until,
            "kind": kind,
            "action": action,
            "job": job,
            "who": who,
            "why": why,
            "source": source,
            "batch": batch,
            "states_only": states_only,
        }
        with self.connect() as connection:
            events = RowList(list_events(connection, scope, limit=limit, after=after, **filters), Event)
            if not events and scope is not None and after is None:
                resolve(connection, scope)
            return events

    @contextmanager
    def open_snapshot(self) -> Iterator[Snapshot]:
        """Open a snapshot, with the fleet's scenario applied."""
        with self._source.open() as snapshot:
            yield snapshot

    def close(self) -> None:
        """Close the database, or what this fleet opened of it.

        A fleet of a snapshot, or of a scenario in one, closes only the snapshot; one of an earlier time or of a
        scenario outside a snapshot closes nothing. Reads that have begun in other threads end before their connection
        is closed. Further reads of a snapshot raise an error; those of a database open a connection of their own.
        """
        if self._source.shared:
            self._source.shared.close()
        elif not self._is_derived:
            self._earlier.close()
            self._source.tracker.close()
            close_engine(self.engine)

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
        scenario = Scenario.parse(down, derate, with_, without).merge(self._source.scenario)
        return self._derive(replace(self._source, scenario=scenario))

    def at(self, time: Time) -> Self:
        """Return the fleet as it was at an earlier time, or after an event: states, jobs and bindings.

        The caches of the last few times are kept for later calls. Closing the result leaves the database
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
        return self._derive(replace(self._earlier.at(time), scenario=self._source.scenario))

    def ask(self, question: Question, *arguments: Any, **keywords: Any) -> Any:
        """Answer a declared question; its parameters may have any form that `Parameter.coerce` accepts.

        Raises
        ------
        TrninvError
            A parameter is invalid, or the question has no answer.

        """
        values = question.coerce_values(*arguments, **keywords)
        scenario = self._source.scenario
        if scenario is None and question.answer_from_cache and (revision := self._source.revision()) is not None:
            with suppress(AddressError):  # the error of the database's answer says which place may be meant
                if cached := question.answer_from_cache(self._path_cache(revision), **values):
                    return with_origin(cached, self, revision_id(revision))

        with self._source.open_without_scenario() as snapshot:
            answer = question.function(snapshot.with_scenario(scenario), **values)
            if scenario and question.has_baseline:
                baseline = with_wiring_source(
                    question.function(snapshot, **values), snapshot, question.addresses(values)
                )
                answer = replace(answer, baseline=baseline, wiring_source=baseline.wiring_source)
            else:
                answer = with_wiring_source(answer, snapshot, question.addresses(values))
            return with_origin(answer, self, revision_id(snapshot.revision))

    def cached_answer(
        self, question: Question, *, cached_revision: Hashable | None = None, **keywords: Any
    ) -> tuple[Any, AsOf] | None:
        """Return the answer to a declared question with the time and revision it is for, or None if it is not cached.

        Parameters
        ----------
        cached_revision
            The latest revision. If passed, return None rather than read or search to complete the cache, so that the
            event loop is not blocked.

        Raises
        ------
        TrninvError
            A parameter is invalid.

        """
        if self._source.scenario is not None or question.answer_from_cache is None:
            return None
        revision = self._source.revision() if cached_revision is None else cached_revision
        if revision is None:
            return None
        values = question.coerce_values(**keywords)
        with nullcontext() if cached_revision is None else cached_only():
            answer = question.answer_from_cache(self._path_cache(revision), **values)
        return None if answer is None else (answer, AsOf.latest(revision))

    def _path_cache(self, revision: Hashable) -> PathCache:
        return PathCache(self._source, self._source.latest_cache.at(revision))

    @reading
    def only_cluster(self) -> str:
        """Return the name of the only cluster; an error names the clusters if there are several, or none."""
        with self.connect() as connection:
            return only_cluster(connection)

    @reading
    def bindings(self, scope: str | None = None, *, include_ended: bool = False) -> RowList[Binding]:
        """List the bindings of instances to slots in a server, rack, domain or cluster, or in all clusters.

        Parameters
        ----------
        include_ended
            Include bindings that have ended.

        """
        with self.connect() as connection:
            place = None if scope is None else resolve_place(connection, scope)
            return RowList(bindings.list_bindings(connection, place, ended=include_ended), Binding)

    @reading
    def instances(self, servers: Iterable[str]) -> tuple[ServerInstance, ...]:
        """Return the instance bound to each server, in the order of the servers' addresses."""
        with self.connect() as connection:
            return tuple(ServerInstance(*row) for row in bindings.bound_machines(connection, servers))

    @reading
    def drift(self, scope: str | None = None, *, include_cleared: bool = False) -> "RowList[Finding]":
        """List the findings of the last ``trninv drift``, the worst first: how observations differ from the design.

        With ``include_cleared``, also those that no longer hold. Run `detect_drift` after imports to compare again.
        """
        from trninv.reconcile.findings import Finding, list_findings  # noqa: PLC0415 # it imports the catalog, as above

        with self.connect() as connection:
            return RowList(list_findings(connection, scope, include_cleared), Finding)

    @reading
    def drift_compared_at(self) -> str | None:
        """Return the time of the last ``trninv drift`` (UTC), or None if it never ran."""
        from trninv.reconcile.findings import last_comparison_time  # noqa: PLC0415 # as above

        with self.connect() as connection:
            return last_comparison_time(connection)

    @reading
    def unclaimed_types(self) -> "tuple[UnclaimedType, ...]":
        """Return the types of instances without a slot that match no model, as of the last ``trninv drift``."""
        from trninv.reconcile.drift_input import unclaimed_types  # noqa: PLC0415 # it needs the catalog's models

        with self.connect() as connection:
            return unclaimed_types(connection)
