"""Read a request's Accept header and query parameters."""

from collections import Counter
from collections.abc import Collection
from functools import lru_cache
from urllib.request import parse_http_list

from starlette.datastructures import Headers
from starlette.requests import Request

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
        return next((self._ranges[kind] for kind in media_ranges if kind in self._ranges), 0)

    def prefers(self, media: str, *others: str) -> bool:
        """Return whether a media type is listed and preferred to others; among equals the first listed wins."""
        candidates = [kind for kind in self._ranges if self.lists(kind) and kind in (media, *others)]
        first = max(candidates, key=self.quality, default=None)
        return first == media and self.quality(media) >= max(map(self.quality, others))


def parse_accept(headers: Headers) -> AcceptHeader:
    """Parse a request's Accept header; without one, anything is accepted."""
    return _parse_cached(headers.get("accept") or "*/*")


_parse_cached = lru_cache(maxsize=128)(AcceptHeader)


def _parse_range(text: str) -> tuple[str, float]:
    """Parse a media range and its quality; other parameters distinguish nothing that is served here."""
    kind, *parameters = (part.strip().lower() for part in text.split(";"))
    weights = [part.removeprefix("q=") for part in parameters if part.startswith("q=")]
    try:
        quality = float(weights[0]) if weights else 1
    except ValueError:
        quality = 0
    return kind, quality if 0 <= quality <= 1 else 0


def query_parameters(request: Request, allowed: Collection[str] | None = None) -> dict[str, str]:
    """Return the query parameters; a misspelt name is refused, not ignored.

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
