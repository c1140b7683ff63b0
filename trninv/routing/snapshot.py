"""Open snapshots of the current state or of an earlier time: the connection, cache and scenario that a question reads.

`trninv.routing.wiring` defines and loads wirings; `trninv.routing.revision_cache` caches them.
"""

from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from threading import Lock
from typing import TypeVar

from sqlalchemy import Connection, Engine

from trninv.database.as_of import engine_as_of
from trninv.database.revision import RevisionTracker
from trninv.database.snapshot import SharedSnapshot
from trninv.history.point_in_time import PointInTime, Time, resolve_point_in_time
from trninv.inventory.address.syntax import Address
from trninv.routing.revision_cache import LatestCache, RevisionCache
from trninv.routing.scenario import Scenario, ScenarioChanges, resolve_scenario
from trninv.routing.stored_domain import (
    Models,
    NetworkPart,
    read_domain_by_id,
    read_models,
    read_network_part,
)
from trninv.routing.wiring import (
    NO_OVERRIDES,
    UpOverrides,
    Wiring,
    check_domain_count,
    load_wiring,
    merge_wirings,
    read_latencies,
)

A = TypeVar("A")
MAX_TIMES_CACHED = 16
"""Number of earlier times whose caches are kept."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One state of the database: a connection that reads it, the cache of its revision, and a scenario.

    Attributes
    ----------
    changes
        The changes of the scenario, which are applied to every wiring that is loaded.
    up_overrides
        Parts to load as if they were up; wirings loaded with them are not cached.

    """

    connection: Connection
    cache: RevisionCache
    changes: ScenarioChanges = field(default_factory=ScenarioChanges)
    up_overrides: UpOverrides = NO_OVERRIDES

    @property
    def revision(self) -> Hashable | None:
        """The identity of this state; None if the database can't tell revisions apart, so that no cache is kept."""
        return self.cache.revision

    def with_up_overrides(self, up_overrides: UpOverrides) -> "Snapshot":
        """Return the snapshot with some parts counted as up."""
        return replace(self, up_overrides=up_overrides)

    def with_scenario(self, scenario: Scenario | None) -> "Snapshot":
        """Return the snapshot with a scenario applied, if there is one."""
        return replace(self, changes=resolve_scenario(self.connection, scenario)) if scenario else self

    def load(self, domain_ids: Collection[int], *, fabric: bool = False) -> Wiring:
        """Return the wiring of domains with the scenario applied, from the cache where possible."""
        return merge_wirings(list(self.parts(domain_ids, fabric=fabric).values()))

    def parts(self, domain_ids: Collection[int], *, fabric: bool = False) -> dict[int, Wiring]:
        """Return the wiring of each domain with the scenario applied, by the domain's id."""
        check_domain_count(domain_ids)
        changed = self.changes.nodes or self.changes.links
        wirings = {domain: self._domain(domain, fabric) for domain in domain_ids}
        return {domain: part.with_scenario(self.changes) for domain, part in wirings.items()} if changed else wirings

    def chip(self, address: Address) -> tuple[int, int] | None:
        """Return node id and domain id of a chip that carries traffic if its domain's wiring is cached, else None."""
        return self.cache.chip(str(address))

    def cached(self, key: Hashable, read: Callable[[], A]) -> A:
        """Return the result cached under a key, or call ``read`` and cache its result.

        A result must not depend on the scenario: it is cached for the revision alone.
        """
        return self.cache.results.get_or_compute(key, read)

    def _domain(self, domain: int, fabric: bool) -> Wiring:
        """Return the wiring of a domain without the scenario, from the cache unless there are ``up_overrides``."""
        if self.up_overrides != NO_OVERRIDES:
            return load_wiring(self.connection, [domain], fabric=fabric, up_overrides=self.up_overrides)
        return self.cache.wiring(domain, fabric=fabric, load=partial(self._load_domain, domain, fabric=fabric))

    def _load_domain(self, domain: int, *, fabric: bool) -> Wiring:
        """Load a domain's wiring from its blueprint; row by row if its rows have no common form."""
        stored = read_domain_by_id(self.connection, self.models(), domain)
        network = self.network_part(stored.network_nodes) if stored and fabric else None
        if stored is None or (fabric and network is None):
            return load_wiring(self.connection, [domain], fabric=fabric)
        return stored.wiring(self.latencies(), network)

    def models(self) -> Models:
        """Return the models of chips and links."""
        return self.cached("models", partial(read_models, self.connection))

    def latencies(self) -> Mapping[str, int]:
        """Return the latencies of links, as `read_latencies` does."""
        return self.cached("latencies", partial(read_latencies, self.connection))

    def network_part(self, network_nodes: tuple[int, ...]) -> NetworkPart | None:
        """Return some network nodes and all above them; None if their rows are not those of network nodes."""
        return self.cached(("network part", network_nodes), partial(read_network_part, self.connection, network_nodes))


@dataclass(frozen=True, slots=True)
class SnapshotSource:
    """A source from which a fleet opens its snapshots; thread-safe.

    Attributes
    ----------
    tracker
        Opens connections and reads their revision.
    latest_cache
        The cache of the latest revision that was read.
    shared
        The snapshot that all reads share; None if each read opens a snapshot of the latest revision.
    scenario
        The scenario that `open` applies to every snapshot, or None.

    """

    tracker: RevisionTracker
    latest_cache: LatestCache
    shared: SharedSnapshot | None = None
    scenario: Scenario | None = None

    @classmethod
    def from_engine(cls, engine: Engine) -> "SnapshotSource":
        """Return the source of an engine's latest revisions."""
        return cls(RevisionTracker(engine), LatestCache())

    def share(self) -> "SnapshotSource":
        """Return a source whose reads all share one snapshot, which the first read opens."""
        return replace(self, shared=SharedSnapshot(self.tracker))

    def revision(self) -> Hashable | None:
        """Return the revision that a snapshot opened now would have; None if the database can't tell."""
        return (self.shared or self.tracker).current()

    @contextmanager
    def open(self) -> Iterator[Snapshot]:
        """Open the shared snapshot, or one of the latest revision, with the scenario applied."""
        with self.open_without_scenario() as snapshot:
            yield snapshot.with_scenario(self.scenario)

    @contextmanager
    def open_without_scenario(self) -> Iterator[Snapshot]:
        """Open the shared snapshot, or one of the latest revision, without the scenario."""
        with (self.shared or self.tracker).read() as (connection, revision):
            yield Snapshot(connection, self.latest_cache.at(revision))


class EarlierSources:
    """Snapshot sources of earlier times; the MAX_TIMES_CACHED last used are kept, with their caches. Thread-safe."""

    def __init__(self, latest: SnapshotSource) -> None:
        self._latest, self._lock, self._sources = latest, Lock(), OrderedDict[PointInTime, SnapshotSource]()

    def at(self, time: Time) -> SnapshotSource:
        """Return the source of the state at an earlier time.

        Raises
        ------
        InvalidTimeError

        """
        with self._latest.open_without_scenario() as snapshot:
            point = resolve_point_in_time(snapshot.connection, time)
        with self._lock:
            if (source := self._sources.pop(point, None)) is None:
                engine = engine_as_of(self._latest.tracker.engine, point.event, point.time, point.omitted)
                source = SnapshotSource.from_engine(engine)
            self._sources[point] = source
            if len(self._sources) > MAX_TIMES_CACHED:
                self._sources.popitem(last=False)[1].tracker.close()
        return source

    def close(self) -> None:
        """Close the sources that are kept, and drop them."""
        with self._lock:
            for source in self._sources.values():
                source.tracker.close()
            self._sources.clear()
