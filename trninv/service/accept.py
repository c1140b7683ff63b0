"""Which media a client takes, by its Accept header (RFC 9110, 12.5.1)."""

from functools import lru_cache
from urllib.request import parse_http_list

from starlette.datastructures import Headers


class AcceptHeader:
    """Ranges of media and how much a client likes each, from 0 to 1; 0 is not at all."""

    def __init__(self, header: str) -> None:
        self._ranges = dict(map(_parse_range, parse_http_list(header)))

    def lists(self, media: str) -> bool:
        """Whether it takes a medium that it calls by its name."""
        return self._ranges.get(media, 0) > 0

    def quality(self, media: str) -> float:
        """How much it likes a medium: what it says of that one counts before what it says of all."""
        media_ranges = media, f"{media.partition('/')[0]}/*", "*/*"
        return next((self._ranges[kind] for kind in media_ranges if kind in self._ranges), 0)

    def prefers(self, media: str, *others: str) -> bool:
        """Whether it names a medium and likes no other more, nor as much one that it names before."""
        candidates = [kind for kind in self._ranges if self.lists(kind) and kind in (media, *others)]
        first = max(candidates, key=self.quality, default=None)
        return first == media and self.quality(media) >= max(map(self.quality, others))


def parse_accept(headers: Headers) -> AcceptHeader:
    """What a request's client takes: anything, if it does not say."""
    return _parse_cached(headers.get("accept") or "*/*")


_parse_cached = lru_cache(maxsize=128)(AcceptHeader)


def _parse_range(text: str) -> tuple[str, float]:
    """A range of media and how much it is liked; other parameters tell nothing apart that is served here."""
    kind, *parameters = (part.strip().lower() for part in text.split(";"))
    weights = [part.removeprefix("q=") for part in parameters if part.startswith("q=")]
    try:
        quality = float(weights[0]) if weights else 1
    except ValueError:
        quality = 0
    return kind, quality if 0 <= quality <= 1 else 0
