"""Load the public keys of an identity provider (a JSON Web Key Set) from a URL or a file, and keep them up to date."""

import asyncio
import json
import time
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any, Final
from urllib.error import HTTPError

import anyio.to_thread

from trninv.errors import UnauthenticatedError

MAX_AGE: Final = 3600.0
"""Seconds after which the keys are loaded again."""
MIN_INTERVAL: Final = 30.0
"""Minimum seconds between two attempts to load the keys, however many unknown keys tokens name."""
MAX_STALE: Final = 86_400.0
"""Seconds for which keys are used although loading them again fails."""
MAX_BYTES: Final = 1_000_000
"""Maximum size of a key set."""
_TIMEOUT_SECONDS: Final = 5.0
_MIN_RSA_BITS: Final = 2048
_ALGORITHMS: Final[Mapping[str, tuple[str, ...]]] = {
    "RSA": ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    "EC": ("ES256", "ES384", "ES512"),
    "OKP": ("EdDSA",),
}
"""Algorithms by type of key; a symmetric key (oct) verifies nothing, because whoever knows it can sign."""


@dataclass(frozen=True, slots=True)
class VerificationKey:
    """A public key, and the algorithms that it may be used with."""

    key: Any  # a public key of `cryptography`
    algorithms: tuple[str, ...]


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Refuses redirects, which might lead from HTTPS to a server that nobody configured."""

    def redirect_request(self, *_args: Any, **_options: Any) -> None:
        """Return no request, so that the redirect is an error."""


def load_key_set(location: str) -> bytes:
    """Return a key set's bytes, at most MAX_BYTES and one, from a URL or a file."""
    if not location.startswith(("https://", "http://")):
        with Path(location).open("rb") as file:
            return file.read(MAX_BYTES + 1)
    opener = urllib.request.build_opener(_NoRedirects)
    try:
        with opener.open(location, timeout=_TIMEOUT_SECONDS) as response:
            body: bytes = response.read(MAX_BYTES + 1)
            return body
    except HTTPError as error:
        error.close()
        raise


class JsonWebKeys:
    """The keys at a location, by their ids.

    Parameters
    ----------
    log_failure
        Called with the exception if loading fails.
    load, clock
        How to load the bytes, and a clock in seconds; tests replace them.
    """

    def __init__(
        self,
        location: str,
        log_failure: Callable[[Exception], None],
        load: Callable[[str], bytes] = load_key_set,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._location, self._log_failure, self._load, self._clock = location, log_failure, load, clock
        self._keys: Mapping[str, VerificationKey] = {}
        self._loaded_at = self._tried_at = float("-inf")
        self._lock = asyncio.Lock()

    async def find(self, key_id: str | None) -> VerificationKey:
        """Return the key of an id; without an id, the only key. An unknown id loads the keys again, if not just loaded.

        Raises
        ------
        UnauthenticatedError
            There is no such key.

        """
        if self._clock() - self._loaded_at >= MAX_AGE or self._select(key_id) is None:
            await self._reload()
        if self._clock() - self._loaded_at < MAX_STALE and (key := self._select(key_id)):
            return key
        raise UnauthenticatedError("the OpenID token is signed by a key that the issuer does not publish")

    def _select(self, key_id: str | None) -> VerificationKey | None:
        if key_id is None:
            return next(iter(self._keys.values())) if len(self._keys) == 1 else None
        return self._keys.get(key_id)

    async def _reload(self) -> None:
        async with self._lock:  # callers that waited find that the keys were just loaded
            if self._clock() - self._tried_at < MIN_INTERVAL:
                return
            self._tried_at = self._clock()
            try:
                body = await anyio.to_thread.run_sync(self._load, self._location)
                self._keys = parse_key_set(body)
            except (OSError, HTTPException, ValueError) as error:
                self._log_failure(error)
                return
            self._loaded_at = self._clock()


def parse_key_set(body: bytes) -> dict[str, VerificationKey]:
    """Return the keys of a key set that can verify signatures, by id; others are skipped.

    Raises
    ------
    ValueError
        It is not a key set, or has no such key.

    """
    import jwt  # noqa: PLC0415 # an extra

    if len(body) > MAX_BYTES:
        raise ValueError(f"the key set is longer than {MAX_BYTES:,} bytes")
    content = json.loads(body)
    entries = content.get("keys") if isinstance(content, dict) else None
    if not isinstance(entries, list):
        raise ValueError('the key set is not a JSON object with a list "keys"')  # noqa: TRY004 # as json's errors
    keys = dict[str, VerificationKey]()
    for entry in entries:
        if not isinstance(entry, dict) or entry.get("use", "sig") != "sig":
            continue
        allowed = _ALGORITHMS.get(str(entry.get("kty")), ())
        if "alg" in entry:
            allowed = tuple(name for name in allowed if name == entry["alg"])
        if not allowed:
            continue
        try:
            key = jwt.PyJWK(entry, algorithm=allowed[0]).key
        except (jwt.PyJWTError, ValueError, TypeError):
            continue  # a key of a curve or form that is not supported
        if getattr(key, "key_size", _MIN_RSA_BITS) < _MIN_RSA_BITS and entry["kty"] == "RSA":
            continue
        keys[str(entry.get("kid", ""))] = VerificationKey(key, allowed)
    if not keys:
        raise ValueError("the key set has no key that verifies signatures")
    return keys
