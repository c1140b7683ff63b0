"""List and watch objects of Kubernetes with the official client's credentials, and translate its errors.

Its class Watch is not used: it parses events of any size, and does not say when the API accepted the call.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPException
from typing import Any, Final

from trninv.discovery.provider import MAX_MACHINES, PackedJson, PullProgress
from trninv.discovery.target import Target
from trninv.errors import DiscoveryError, DiscoveryRefusedError, UsageError, how_to_install
from trninv.importers.input_file import JsonError, parse_json

_TIMEOUT_SECONDS: Final = 30
_PAGE_SIZE: Final = 500
_MAX_PAGE_BYTES: Final = 256 << 20
_MAX_RESTARTS: Final = 3
"""How often a list starts again whose pages expired (410 Gone), because reading them took too long."""
_WATCH_SECONDS: Final = 120
"""How long the API answers one watch; the next one continues where it ended."""
_MAX_EVENT_BYTES: Final = 16 << 20
_CHUNK_BYTES: Final = 64 << 10
_REFUSED: Final = frozenset({401, 403, 404})
GONE: Final = 410


class ExpiredVersionError(Exception):
    """The API no longer has the next page of a list, or the events since a version."""


@dataclass(frozen=True, slots=True)
class Resource:
    """A kind of objects that is read.

    Attributes
    ----------
    name
        Its name and API group as permissions spell them, such as resourceslices.resource.k8s.io.
    reduce
        Returns what is kept of an object.

    """

    name: str
    kind: str
    path: str
    reduce: Callable[[dict[str, Any]], dict[str, Any]]

    def read_object(self, item: dict[str, Any]) -> tuple[str, PackedJson]:
        """Return the key of an object, and what is kept of it, which is much smaller than the object."""
        metadata = item.get("metadata")
        names = metadata if isinstance(metadata, dict) else {}
        kept = self.reduce({**item, "kind": self.kind})
        try:
            return f"{names.get('namespace', '')}/{names.get('name', '')}", PackedJson.dump(kept)
        except TypeError as error:  # a string that UTF-8 can't encode
            raise DiscoveryError(f"{self.name}: {error}") from None


@dataclass(frozen=True, slots=True)
class ObjectList:
    """All objects of a resource by key, and the version of the resource; empty: the API has no versions."""

    objects: dict[str, PackedJson]
    version: str


class KubernetesClient:
    """A client of a target's cluster.

    Attributes
    ----------
    identity
        The cluster's API server.

    """

    def __init__(self, target: Target) -> None:
        try:
            from kubernetes import client, config  # noqa: PLC0415 # an extra
            from kubernetes.config import ConfigException  # noqa: PLC0415
        except ImportError:
            raise UsageError(f"discover kubernetes needs its client: {how_to_install('kubernetes')}") from None
        configuration = client.Configuration()
        try:
            try:
                config.load_kube_config(context=target.place or None, client_configuration=configuration)
            except ConfigException:
                if target.place:
                    raise
                config.load_incluster_config(client_configuration=configuration)
        except (ConfigException, OSError) as error:
            raise UsageError(f"{target}: {error}; name a context of the kubeconfig, or run in a pod") from None
        configuration.retries = 3
        self._target, self._client = target, client.ApiClient(configuration)
        self.identity = f"cluster {configuration.host}"

    def list_objects(self, resource: Resource, progress: PullProgress) -> ObjectList:
        """Return all objects of a resource.

        Raises
        ------
        DiscoveryRefusedError
            These credentials may not list them, or the cluster has no such resource.
        DiscoveryError
            The API does not answer, or not with a list.

        """
        for _ in range(_MAX_RESTARTS):
            objects, version = dict[str, PackedJson](), ""
            try:
                for items, version in self._pages(resource):  # noqa: B007 # that of the last page is used
                    objects |= map(resource.read_object, items)
                    progress(resource.name.partition(".")[0], len(objects))
            except ExpiredVersionError:
                continue
            return ObjectList(objects, version)
        name = f"{self._target}: GET {resource.path}"
        raise DiscoveryError(f"{name}: its pages expired {_MAX_RESTARTS} times (410); try again")

    def _pages(self, resource: Resource) -> Iterator[tuple[list[dict[str, Any]], str]]:
        """Yield the items of each page, and the version of the list."""
        token, tokens, count, name = "", set[str](), 0, f"{self._target}: GET {resource.path}"
        while True:
            page = self._get(resource.path, [("limit", str(_PAGE_SIZE)), *([("continue", token)] if token else [])])
            items = page.get("items")
            if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
                raise DiscoveryError(f"{name}: is not a list of objects; nothing was imported")
            metadata = page["metadata"] if isinstance(page.get("metadata"), dict) else {}
            yield items, str(metadata.get("resourceVersion") or "")
            count += len(items)
            token = str(metadata.get("continue") or "")
            if not token:
                return
            if token in tokens or count > MAX_MACHINES:
                limit = "its pages repeat" if token in tokens else f"more than {MAX_MACHINES:,} objects"
                raise DiscoveryError(f"{name}: {limit}; nothing was imported")
            tokens.add(token)

    def watch(self, resource: Resource, version: str, opened: Callable[[Any], object]) -> Iterator[dict[str, Any]]:
        """Yield the events of a resource after a version, until the API ends the watch.

        Parameters
        ----------
        opened
            Called with the response when the API has accepted the watch; its ``shutdown`` ends the watch.

        Raises
        ------
        ExpiredVersionError
            The API no longer has the events after this version.
        DiscoveryError
            The API refuses the watch, breaks it off, or sends something else.

        """
        name = f"{self._target}: watch {resource.path}"
        query = [("watch", "1"), ("resourceVersion", version), ("allowWatchBookmarks", "true")]
        query.append(("timeoutSeconds", str(_WATCH_SECONDS)))
        with self._errors(name), self._call(resource.path, query, _WATCH_SECONDS + _TIMEOUT_SECONDS) as response:
            opened(response)
            for line in _lines(name, response):
                yield _parse_object(name, line)

    def _get(self, path: str, query: list[tuple[str, str]]) -> dict[str, Any]:
        name = f"{self._target}: GET {path}"
        with self._errors(name), self._call(path, query, _TIMEOUT_SECONDS) as response:
            content = response.read(_MAX_PAGE_BYTES + 1)
        if len(content) > _MAX_PAGE_BYTES:
            raise DiscoveryError(f"{name}: a page of more than {_MAX_PAGE_BYTES >> 20} MiB; nothing was imported")
        return _parse_object(name, content)

    def _call(self, path: str, query: list[tuple[str, str]], timeout: int) -> Any:
        """Send a call, and return the response when its headers have come."""
        return self._client.call_api(
            path,
            "GET",
            query_params=query,
            header_params={"Accept": "application/json"},
            auth_settings=["BearerToken"],
            _preload_content=False,
            _return_http_data_only=True,
            _request_timeout=(_TIMEOUT_SECONDS, timeout),
        )

    @contextmanager
    def _errors(self, name: str) -> Iterator[None]:
        """Translate the errors of calls."""
        from kubernetes.client import ApiException  # noqa: PLC0415 # an extra
        from urllib3.exceptions import HTTPError  # noqa: PLC0415

        try:
            yield
        except ApiException as error:
            if error.status == GONE:
                raise ExpiredVersionError from None
            error_class = DiscoveryRefusedError if error.status in _REFUSED else DiscoveryError
            raise error_class(f"{name}: {error.status} {error.reason}") from None
        except (HTTPError, HTTPException, OSError) as error:
            raise DiscoveryError(f"{name}: {error}"[:500]) from None


def _lines(name: str, response: Any) -> Iterator[bytes]:
    """Yield the lines of a response as they come."""
    rest = bytearray()
    for chunk in response.stream(_CHUNK_BYTES, decode_content=False):
        rest += chunk
        if b"\n" in chunk:
            *lines, last = bytes(rest).split(b"\n")
            yield from filter(None, lines)
            rest = bytearray(last)
        if len(rest) > _MAX_EVENT_BYTES:
            raise DiscoveryError(f"{name}: an event of more than {_MAX_EVENT_BYTES >> 20} MiB")


def _parse_object(name: str, content: bytes) -> dict[str, Any]:
    try:
        parsed = parse_json(content)
    except JsonError as error:
        raise DiscoveryError(f"{name}: {error.message}") from None
    if not isinstance(parsed, dict):
        raise DiscoveryError(f"{name}: is not an object")
    return parsed
