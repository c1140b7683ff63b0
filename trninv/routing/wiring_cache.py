"""Cache wirings by revision and serve snapshot readers.

A wiring has only nodes and links that carry traffic, each with a dictionary of attributes:

- A node has ``kind``, ``address``, ``rack`` and ``server`` (ordinals; a rack's switch has no server), ``memory`` and
  ``model`` (chips: bytes, slug), ``domain`` and ``domain_id`` (slug of the model and row id; None for a network node),
  ``position`` (chips: coordinates, if the pattern has any), ``vendor_id`` (observed network nodes), and for the
  pattern ``ordinal``, ``wiring`` and ``sides``.
- A link has ``id``, ``capacity`` (bytes per second, one direction), ``model``, ``technology`` and ``latency``
  (nanoseconds; None if no fact states it).
"""

from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine

from trninv.database.revision import RevisionTracker
from trninv.database.snapshot import SharedSnapshot
from trninv.inventory.address.syntax import Address
from trninv.routing.scenario import Scenario, ScenarioChanges, resolve_scenario
from trninv.routing.wiring import (
    MAX_DOMAINS,
    NO_OVERRIDES,
    UpOverrides,
    Wiring,
    check_domain_count,
    load_wiring,
    merge_wirings,
)

A = TypeVar("A")
MAX_CACHED_RESULTS = 10_000


@dataclass(slots=True)
class _CacheEntry:
    """Data cached for one revision of the database.

    Attributes
    ----------
    domains
        Wirings by domain id and whether they include the fabric, the most recently used last.
    chips
        Node id and domain id by address, for the healthy chips of these domains.
    results
        Other results, by any key.

    """

    revision: Hashable = None
    domains: OrderedDict[tuple[int, bool], Wiring] = field(default_factory=OrderedDict)
    chips: dict[str, tuple[int, int]] = field(default_factory=dict)
    results: dict[Hashable, Any] = field(default_factory=dict)


class WiringCache:
    """A cache of the latest revision's wirings; thread-safe."""

    def __init__(self, engine: Engine) -> None:
        self.engine, self.tracker, self._lock, self._entries = engine, RevisionTracker(engine), Lock(), [_CacheEntry()]
        self._snapshot: SharedSnapshot | None = None
        self._fixed_revision: Hashable | None = None

    def at_revision(self, revision: Hashable) -> "WiringCache":
        """Return a view of this cache that takes a revision as current without asking the database."""
        copied = copy(self)
        copied._fixed_revision = revision  # noqa: SLF001 # its own
        return copied

    def in_snapshot(self, snapshot: SharedSnapshot) -> "WiringCache":
        """Return a view of this cache that reads from a snapshot."""
        copied = copy(self)
        copied._snapshot = snapshot  # noqa: SLF001 # its own
        return copied

    def current_revision(self) -> Hashable | None:
        """Return the revision that a reader would see now; None if the database can't tell revisions apart."""
        if self._fixed_revision is not None:
            return self._fixed_revision
        return self._snapshot.revision() if self._snapshot else self.tracker.current()

    def close(self) -> None:
        """Stop tracking the database's revision."""
        self.tracker.close()

    @contextmanager
    def open_reader(self) -> "Iterator[SnapshotReader]":
        """Open a reader of the snapshot, or of the latest revision."""
        with self._snapshot.connection() if self._snapshot else self.tracker.read() as (connection, revision):
            entry = _CacheEntry() if revision is None else self._entry_for(revision)
            yield SnapshotReader(connection, revision, entry, self._lock, ScenarioChanges())

    def _entry_for(self, revision: Hashable) -> _CacheEntry:
        with self._lock:
            if self._entries[0].revision != revision:
                self._entries[0] = _CacheEntry(revision)
            return self._entries[0]


@dataclass(frozen=True, slots=True)
class SnapshotReader:
    """A connection to one snapshot, the data cached for its revision, and the changes of a scenario.

    Attributes
    ----------
    revision
        None if the database can't tell revisions apart; then nothing is cached beyond this reader.
    changes
        Applied to every wiring that is loaded.
    up_overrides
        Parts to load as if they were up; such wirings are not cached.

    """

    connection: Connection
    revision: Hashable | None
    _entry: _CacheEntry
    _lock: Lock
    changes: ScenarioChanges
    up_overrides: UpOverrides = NO_OVERRIDES

    def with_up_overrides(self, up_overrides: UpOverrides) -> "SnapshotReader":
        """Return a reader of the same snapshot that counts some parts as up."""
        return replace(self, up_overrides=up_overrides)

    def with_scenario(self, scenario: Scenario) -> "SnapshotReader":
        """Return a reader of the same snapshot with a scenario applied."""
        return replace(self, changes=resolve_scenario(self.connection, scenario))

    def load(self, domain_ids: Collection[int], *, fabric: bool = False) -> Wiring:
        """Return the wiring of domains as `load_wiring` does, from the cache where possible."""
        return merge_wirings(list(self.parts(domain_ids, fabric=fabric).values()))

    def parts(self, domain_ids: Collection[int], *, fabric: bool = False) -> dict[int, Wiring]:
        """Return the wiring of each domain, by the domain's id."""
        check_domain_count(domain_ids)
        changed = self.changes.nodes or self.changes.links
        wirings = {domain: self._domain(domain, fabric) for domain in domain_ids}
        return {domain: part.with_scenario(self.changes) for domain, part in wirings.items()} if changed else wirings

    def chip(self, address: Address) -> tuple[int, int] | None:
        """Return node id and domain id of a healthy chip if its domain is cached, else None."""
        return self._entry.chips.get(str(address))

    def cached(self, key: Hashable, read: Callable[[], A]) -> A:
        """Return the result cached under a key, or call ``read`` and cache its result.

        A result must not depend on the scenario: it is cached for the revision alone.
        """
        results = self._entry.results
        if key not in results:
            if len(results) >= MAX_CACHED_RESULTS:
                results.clear()
            results[key] = read()
        result: A = results[key]
        return result

    def _domain(self, domain: int, fabric: bool) -> Wiring:
        if self.up_overrides != NO_OVERRIDES:
            return load_wiring(self.connection, [domain], fabric=fabric, up_overrides=self.up_overrides)
        key, entry = (domain, fabric), self._entry
        wiring = entry.domains.get(key)
        if wiring is None:
            wiring = load_wiring(self.connection, [domain], fabric=fabric)
            entry.chips.update(wiring.chips())
        with self._lock:
            entry.domains[key] = wiring
            entry.domains.move_to_end(key)
            if len(entry.domains) > MAX_DOMAINS:
                _, evicted = entry.domains.popitem(last=False)
                for address in evicted.chips():
                    entry.chips.pop(address, None)
        return wiring
