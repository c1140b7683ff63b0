"""List objects of Kubernetes page by page, with the official client's credentials, and translate its errors."""

from collections.abc import Iterator
from typing import Any, Final

from trninv.discovery.provider import MAX_MACHINES, PullProgress
from trninv.discovery.target import Target
from trninv.errors import DiscoveryError, DiscoveryRefusedError, UsageError
from trninv.importers.input_file import JsonError, parse_json

_TIMEOUT_SECONDS: Final = 30
_PAGE_SIZE: Final = 500
_MAX_PAGE_BYTES: Final = 256 << 20
_MAX_RESTARTS: Final = 3
"""How often a list starts again whose pages expired (410 Gone), because reading them took too long."""
_REFUSED: Final = frozenset({401, 403, 404})
_GONE: Final = 410


class _ExpiredPageError(Exception):
    """The next page of a list is no longer there."""


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
            raise UsageError("discover kubernetes needs its client; run pip install 'trninv[kubernetes]'") from None
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

    def list_objects(self, path: str, kind: str, progress: PullProgress) -> Iterator[dict[str, Any]]:
        """Yield all objects of a kind, each with its kind.

        Raises
        ------
        DiscoveryRefusedError
            These credentials may not list them, or the cluster has no such kind.
        DiscoveryError
            The API does not answer, or not with a list.

        """
        for _ in range(_MAX_RESTARTS):
            try:
                objects = list(self._pages(path, kind, progress))
            except _ExpiredPageError:
                continue
            yield from objects
            return
        raise DiscoveryError(f"{self._target}: GET {path}: its pages expired {_MAX_RESTARTS} times (410); try again")

    def _pages(self, path: str, kind: str, progress: PullProgress) -> Iterator[dict[str, Any]]:
        token, tokens, count = "", set[str](), 0
        while True:
            page = self._get(path, [("limit", str(_PAGE_SIZE)), *([("continue", token)] if token else [])])
            items = page.get("items")
            if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
                raise DiscoveryError(f"{self._target}: GET {path}: is not a list of objects; nothing was imported")
            count += len(items)
            progress(path.rpartition("/")[2], count)
            yield from ({**item, "kind": kind} for item in items)
            metadata = page.get("metadata")
            token = str((metadata if isinstance(metadata, dict) else {}).get("continue") or "")
            if not token:
                return
            if token in tokens or count > MAX_MACHINES:
                limit = "its pages repeat" if token in tokens else f"more than {MAX_MACHINES:,} objects"
                raise DiscoveryError(f"{self._target}: GET {path}: {limit}; nothing was imported")
            tokens.add(token)

    def _get(self, path: str, query: list[tuple[str, str]]) -> dict[str, Any]:
        from kubernetes.client import ApiException  # noqa: PLC0415 # an extra
        from urllib3.exceptions import HTTPError  # noqa: PLC0415

        name = f"{self._target}: GET {path}"
        try:
            response = self._client.call_api(
                path,
                "GET",
                query_params=query,
                header_params={"Accept": "application/json"},
                auth_settings=["BearerToken"],
                _preload_content=False,
                _return_http_data_only=True,
                _request_timeout=_TIMEOUT_SECONDS,
            )
            with response:
                content = response.read(_MAX_PAGE_BYTES + 1)
        except ApiException as error:
            if error.status == _GONE:
                raise _ExpiredPageError from None
            error_class = DiscoveryRefusedError if error.status in _REFUSED else DiscoveryError
            raise error_class(f"{name}: {error.status} {error.reason}") from None
        except (HTTPError, OSError) as error:
            raise DiscoveryError(f"{name}: {error}"[:500]) from None
        if len(content) > _MAX_PAGE_BYTES:
            raise DiscoveryError(f"{name}: a page of more than {_MAX_PAGE_BYTES >> 20} MiB; nothing was imported")
        try:
            page = parse_json(content)
        except JsonError as error:
            raise DiscoveryError(f"{name}: {error.message}; nothing was imported") from None
        if not isinstance(page, dict):
            raise DiscoveryError(f"{name}: is not an object; nothing was imported")
        return page
