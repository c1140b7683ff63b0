"""Parse a request's Accept header and query parameters, for all routes."""

import re
from collections import Counter
from collections.abc import Collection, Sequence
from functools import lru_cache
from urllib.request import parse_http_list

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import Scope

from trninv.errors import RequestError, suggestion


class AcceptHeader:
    """Media ranges of an Accept header with their quality, from 0 (not accepted) to 1."""

    def __init__(self, header: str) -> None:
        self._ranges = dict(map(_parse_range, parse_http_list(header)))

    def lists(self, media: str) -> bool:
        """Return whether a media type is accepted by its full name."""
        return self._ranges.get(media, 0) > 0

    def quality(self, media: str) -> float:
        """Return a media type's quality; the most specific range counts."""
        media_ranges = media, f"{media.partition('/')[0]}/*", "*/*"
        return next((self._ranges[media_range] for media_range in media_ranges if media_range in self._ranges), 0)

    def prefers(self, media: str, *others: str) -> bool:
        """Return whether a media type is listed and preferred to others; among equals the first listed wins."""
        candidates = [listed for listed in self._ranges if self.lists(listed) and listed in (media, *others)]
        first = max(candidates, key=self.quality, default=None)
        return first == media and self.quality(media) >= max(map(self.quality, others))


def parse_accept(headers: Headers) -> AcceptHeader:
    """Parse a request's Accept header; without one, anything is accepted."""
    return _parse_cached(headers.get("accept") or "*/*")


_parse_cached = lru_cache(maxsize=128)(AcceptHeader)


def _parse_range(text: str) -> tuple[str, float]:
    """Parse a media range and its quality (q=0.5); its other parameters are ignored."""
    media_range, *parameters = (part.strip().lower() for part in text.split(";"))
    weights = [part.removeprefix("q=") for part in parameters if part.startswith("q=")]
    try:
        quality = float(weights[0]) if weights else 1
    except ValueError:
        quality = 0
    return media_range, quality if 0 <= quality <= 1 else 0


@lru_cache(maxsize=64)
def is_host_allowed(host: str, names: tuple[str, ...]) -> bool:
    """Return whether a Host header, ignoring its port, matches one of the allowed names (NAME, *.DOMAIN or *)."""
    host_name = re.sub(r":\d*$", "", host).lower()
    return any(name in ("*", host_name) or (name.startswith("*.") and host_name.endswith(name[1:])) for name in names)


def is_cross_site_refused(scope: Scope, origins: Sequence[str]) -> bool:
    """Return whether a page of a site that is not among the origins makes a request, other than by a user's link."""
    headers = Headers(scope=scope)
    if headers.get("sec-fetch-site") != "cross-site" or {"*", headers.get("origin", "")} & set(origins):
        return False
    # a frame or an <object> navigates too, but no user sees an address
    is_link = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
    return not (is_link and scope["method"] in ("GET", "HEAD"))


def query_parameters(request: Request, allowed: Collection[str] | None = None) -> dict[str, str]:
    """Return the query parameters; if `allowed` is set, refuse all others rather than ignore them.

    Raises
    ------
    RequestError
        A parameter is repeated or unknown.

    """
    parameters = request.query_params
    for name, count in Counter(name for name, _ in parameters.multi_items()).items():
        if count > 1:
            raise RequestError(f"the parameter {name[:60]!r} is repeated; send it once")
        if allowed is not None and name not in allowed:
            raise RequestError(f"no parameter {name[:60]!r}: {suggestion(name[:60], allowed)}")
    return dict(parameters)
