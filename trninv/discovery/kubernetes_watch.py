"""Keep a local copy of a resource's objects current by a watch, as the informers of client-go do.

The copy begins with a list. A watch in a thread of its own continues at the version of that list, so nothing between
the two is lost. A copy whose watch is not running is not used; the objects are then listed again.
"""

import random
import time
from contextlib import suppress
from threading import Event, Lock, Thread
from typing import Any, Final

from trninv.discovery.kubernetes_client import GONE, ExpiredVersionError, KubernetesClient, ObjectList, Resource
from trninv.discovery.provider import MAX_MACHINES, PackedJson, PullProgress
from trninv.errors import DiscoveryError

FIRST_PAUSE_SECONDS: Final = 1.0
MAX_PAUSE_SECONDS: Final = 60.0
"""The pauses between attempts to watch again begin with the first and double up to the second."""
_SHORT_SECONDS: Final = 1.0
"""A watch that ends sooner, without any event, counts as failed, so that attempts pause."""
_CHANGES: Final = frozenset({"ADDED", "MODIFIED", "DELETED", "BOOKMARK"})


class WatchedResource:
    """The objects of a resource, from a watch while one is running, else from a new list.

    A list starts a watch unless ``watches`` is False.
    """

    def __init__(self, client: KubernetesClient, resource: Resource, watches: bool) -> None:
        self._client, self._resource, self._watches = client, resource, watches
        self._watch: _Watch | None = None

    def objects(self, progress: PullProgress) -> dict[str, PackedJson]:
        """Return the current objects by key.

        Raises
        ------
        DiscoveryRefusedError, DiscoveryError
            They can't be listed.

        """
        objects = self._watch.objects() if self._watch else None
        if objects is not None:
            return objects
        self.close()
        listed = self._client.list_objects(self._resource, progress)
        if self._watches and listed.version:
            self._watch = _Watch(self._client, self._resource, listed)
        return listed.objects

    @property
    def error(self) -> str:
        """Why the latest watch was refused or broke off; empty if it is running."""
        return self._watch.error if self._watch else ""

    def close(self) -> None:
        """End the watch."""
        if self._watch:
            self._watch.stop()
        self._watch = None


class _Watch:
    """A thread that applies events to objects; it ends when the API no longer has the events that follow.

    Attributes
    ----------
    error
        Why the latest call failed; empty if a call has been accepted since.

    """

    def __init__(self, client: KubernetesClient, resource: Resource, listed: ObjectList) -> None:
        self.error = ""
        self._client, self._resource = client, resource
        self._objects, self._version = dict(listed.objects), listed.version
        self._lock, self._stopping, self._is_running = Lock(), Event(), False
        self._response: Any = None
        # a daemon, so that it does not keep a process that ends from ending
        Thread(target=self._run, name=f"watch {resource.name}", daemon=True).start()

    def objects(self) -> dict[str, PackedJson] | None:
        """Return the objects by key; None if they may have changed unnoticed, since the API does not answer."""
        with self._lock:
            return dict(self._objects) if self._is_running else None

    def stop(self) -> None:
        """End the thread; the events that it still reads are ignored."""
        self._stopping.set()
        with self._lock:
            self._is_running, response = False, self._response
        if response is not None:
            with suppress(Exception):  # it may have ended meanwhile
                response.shutdown()

    def _run(self) -> None:
        """Watch again and again, with growing pauses after failures."""
        pause = FIRST_PAUSE_SECONDS
        try:
            while not self._stopping.is_set():
                started, version = time.monotonic(), self._version
                try:
                    self._follow()
                except DiscoveryError as error:
                    self._fail(str(error))
                if self._version != version or time.monotonic() - started > _SHORT_SECONDS:
                    pause = FIRST_PAUSE_SECONDS
                    if self._is_running:
                        continue
                self._stopping.wait(pause * random.uniform(0.5, 1.0))  # noqa: S311 # only spreads the calls
                pause = min(2 * pause, MAX_PAUSE_SECONDS)
        except ExpiredVersionError:
            pass  # the next pull lists the objects again
        finally:
            self._fail(self.error)

    def _follow(self) -> None:
        """Apply the events of one call."""
        for event in self._client.watch(self._resource, self._version, self._accept):
            if self._stopping.is_set():
                return
            with self._lock:
                self._apply(event)

    def _accept(self, response: Any) -> None:
        with self._lock:
            if self._stopping.is_set():
                raise DiscoveryError("the watch was ended")
            self._response, self._is_running, self.error = response, True, ""

    def _fail(self, error: str) -> None:
        with self._lock:
            self._is_running, self._response, self.error = False, None, error

    def _apply(self, event: dict[str, Any]) -> None:
        """Apply one event.

        Raises
        ------
        ExpiredVersionError
            The API no longer has the events that follow.
        DiscoveryError
            It is another error, or no event.

        """
        kind, item = event.get("type"), event.get("object")
        if not isinstance(item, dict):
            raise DiscoveryError(f"watch {self._resource.path}: an event has no object")
        if kind == "ERROR":
            if item.get("code") == GONE:
                raise ExpiredVersionError
            raise DiscoveryError(f"watch {self._resource.path}: {item.get('code')} {item.get('message')}"[:500])
        metadata = item.get("metadata")
        version = metadata.get("resourceVersion") if isinstance(metadata, dict) else None
        if kind not in _CHANGES or not isinstance(version, str) or not version:
            raise DiscoveryError(f"watch {self._resource.path}: an event has no type or no version")
        if kind != "BOOKMARK":
            key, content = self._resource.read_object(item)
            if kind == "DELETED":
                self._objects.pop(key, None)
            elif len(self._objects) <= MAX_MACHINES:
                self._objects[key] = content
            else:
                raise DiscoveryError(f"watch {self._resource.path}: more than {MAX_MACHINES:,} objects")
        self._version = version
