"""Cache what is derived from one revision of the database: wirings, domains, searches, facts and other results.

A fleet keeps the cache of the latest revision that it read; another revision starts an empty one.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Final, TypeVar

from trninv.routing.wiring import MAX_DOMAINS, Wiring

A = TypeVar("A")
MAX_RESULTS_CACHED = 10_000
"""Most results cached for one revision."""
MAX_SEARCHES_CACHED = 4_096
"""Most search results cached for one revision; each takes some kilobytes."""
MAX_DOMAINS_CACHED = 20_000
"""Most domains cached for one revision; a healthy domain takes a few hundred bytes."""
_MISSING: Final = object()


class NotCachedError(Exception):
    """The answer needs a read or search that `cached_only` forbids, or the cached revision is no longer the latest."""


_is_cached_only: ContextVar[bool] = ContextVar("is_cached_only", default=False)


@contextmanager
def cached_only() -> Iterator[None]:
    """Make a `BoundedCache` raise NotCachedError in this context instead of computing a result that it lacks."""
    token = _is_cached_only.set(True)
    try:
        yield
    finally:
        _is_cached_only.reset(token)


class BoundedCache:
    """A cache of results by key; thread-safe. If it is full (``limit`` results), a new result replaces all of them."""

    def __init__(self, limit: int) -> None:
        self._limit, self._results = limit, dict[Hashable, Any]()

    def __len__(self) -> int:
        return len(self._results)

    def get_or_compute(self, key: Hashable, compute: Callable[[], A]) -> A:
        """Return the result cached under a key, or compute and cache it.

        Raises
        ------
        NotCachedError
            The result is not cached, and `cached_only` allows no computation.

        """
        result = self._results.get(key, _MISSING)
        if result is _MISSING:
            if _is_cached_only.get():
                raise NotCachedError
            result = compute()
            if len(self._results) >= self._limit:
                self._results.clear()
            self._results[key] = result
        cached: A = result
        return cached


@dataclass(slots=True, eq=False)
class RevisionCache:
    """Data cached for one revision of the database; nothing in it depends on a scenario.

    Attributes
    ----------
    revision
        None if the database can't tell revisions apart.
    domains, domain_classes
        Domains by address, and the wirings that equal domains share (`trninv.routing.cached_domain`).
    searches
        Results of searches in the wirings of ``domain_classes``.
    results
        Other results, such as facts.

    """

    revision: Hashable | None
    domains: BoundedCache = field(default_factory=lambda: BoundedCache(MAX_DOMAINS_CACHED))
    domain_classes: BoundedCache = field(default_factory=lambda: BoundedCache(MAX_DOMAINS_CACHED))
    searches: BoundedCache = field(default_factory=lambda: BoundedCache(MAX_SEARCHES_CACHED))
    results: BoundedCache = field(default_factory=lambda: BoundedCache(MAX_RESULTS_CACHED))
    _wirings: OrderedDict[tuple[int, bool], Wiring] = field(default_factory=OrderedDict)  # least recently used first
    _chips: dict[str, tuple[int, int]] = field(default_factory=dict)  # ids by address, of the chips in _wirings
    _lock: Lock = field(default_factory=Lock)

    def wiring(self, domain: int, *, fabric: bool, load: Callable[[], Wiring]) -> Wiring:
        """Return the cached wiring of a domain, or load and cache it; the MAX_DOMAINS last used ones are kept."""
        key = domain, fabric
        cached = self._wirings.get(key)
        wiring = cached or load()
        chips = {} if cached else wiring.chips()
        with self._lock:
            self._chips |= chips
            self._wirings[key] = wiring
            self._wirings.move_to_end(key)
            if len(self._wirings) > MAX_DOMAINS:
                _, evicted = self._wirings.popitem(last=False)
                for address in evicted.chips():
                    self._chips.pop(address, None)
        return wiring

    def chip(self, address: str) -> tuple[int, int] | None:
        """Return node id and domain id of a chip that carries traffic if its domain's wiring is cached, else None."""
        return self._chips.get(address)


class LatestCache:
    """The cache of the latest revision that was read; thread-safe."""

    def __init__(self) -> None:
        self._lock, self._cache = Lock(), RevisionCache(None)

    def at(self, revision: Hashable | None) -> RevisionCache:
        """Return the cache of a revision; if the revision is None, an empty cache that is not kept."""
        if revision is None:
            return RevisionCache(None)
        with self._lock:
            if self._cache.revision != revision:
                self._cache = RevisionCache(revision)
            return self._cache
