"""Read the receivers of webhooks from a YAML file.

receivers:
  - name: pager
    url: https://hooks.example/trninv          # or url_env, url_file: Slack's URLs are secrets
    secret_env: PAGER_SECRET                   # or secret_file
    incidents: {severity: high}
    checks: {}
"""

import base64
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Any, Final
from urllib.parse import SplitResult, urlsplit

from trninv.database.tables import ACTIONS, EVENT_SOURCES, PART_KINDS, STATES
from trninv.enumeration import DescribedEnum
from trninv.errors import InvalidArgumentError, suggestion
from trninv.importers.yaml_list import parse_yaml_list
from trninv.incidents.model import IncidentSeverity

MAX_RECEIVERS: Final = 20
MAX_ATTEMPTS: Final = 100
_ROOT: Final = "receivers"
_MAX_NAME: Final = 100
_MAX_SECRET_FILE: Final = 10_000
_MIN_SECRET: Final = 16
_SECRET_PREFIX: Final = "whsec_"  # noqa: S105 # it is no secret
"""Begins secrets in the Standard Webhooks specification."""


class BodyFormat(DescribedEnum):
    """Format of what is sent."""

    JSON = "JSON", "An object with id, type, timestamp and data."
    SLACK = "SLACK", "An object with a text, as Slack's incoming webhooks take it."


@dataclass(frozen=True, slots=True)
class EventSelection:
    """Which events a receiver gets; cascaded ones are never sent.

    Attributes
    ----------
    filters
        Fields of `EventFilter` with their values.
    state
        The state that the part has after the event; None: any event.

    """

    filters: Mapping[str, str]
    state: str | None


@dataclass(frozen=True, slots=True)
class IncidentSelection:
    """Which incidents a receiver gets: those at or below a place, from a severity on."""

    scope: str | None
    severity: IncidentSeverity


@dataclass(frozen=True, slots=True)
class CheckSelection:
    """Which checks a receiver gets, by name; None: all."""

    names: frozenset[str] | None


@dataclass(frozen=True, slots=True)
class Receiver:
    """A URL that messages are posted to.

    Attributes
    ----------
    secret
        Signs messages; None only for Slack, which identifies the sender by the URL.
    networks
        Private networks to which messages may be sent.
    attempts
        How often a message is sent before it becomes a dead letter.

    """

    name: str
    url: SplitResult = field(repr=False)
    secret: bytes | None = field(repr=False)
    body_format: BodyFormat
    networks: tuple[IPv4Network | IPv6Network, ...]
    attempts: int
    events: EventSelection | None
    incidents: IncidentSelection | None
    checks: CheckSelection | None


def parse_receivers(raw: bytes, file: str, environ: Mapping[str, str] = os.environ) -> list[Receiver]:
    """Parse a file of receivers, and read their secrets.

    Raises
    ------
    InvalidFileError
        The file is no such file, or a secret is missing; the error lists everything that is wrong, with its lines.

    """

    def parse(item: Any, _line: int) -> Receiver:
        return _parse_receiver(item, environ)

    return parse_yaml_list(raw, file, _ROOT, parse, maximum=MAX_RECEIVERS, consequence="nothing was sent")


def _parse_receiver(item: Any, environ: Mapping[str, str]) -> Receiver:  # Any: a value of YAML
    keys = {
        *("name", "url", "url_env", "url_file", "secret_env", "secret_file"),
        *("format", "allow_networks", "attempts", *_SELECTIONS),
    }
    if not isinstance(item, dict):
        raise InvalidArgumentError("a receiver is an object with name, url and what it gets: events, incidents, checks")
    if unknown := [key for key in item if key not in keys]:
        raise InvalidArgumentError(f"a receiver has no {unknown[0]!r:.60}; {suggestion(unknown[0], sorted(keys))}")
    name = item.get("name")
    if not isinstance(name, str) or not 0 < len(name) <= _MAX_NAME or not name.isprintable():
        raise InvalidArgumentError(f"name is not printable text of 1 to {_MAX_NAME} characters")
    formats = {choice.name.lower(): choice for choice in BodyFormat}
    if (word := item.get("format", "json")) not in formats:
        raise InvalidArgumentError(f"format: there is no {word!r:.60}; use {' or '.join(formats)}")
    attempts = item.get("attempts", 10)
    if not isinstance(attempts, int) or isinstance(attempts, bool) or not 0 < attempts <= MAX_ATTEMPTS:
        raise InvalidArgumentError(f"attempts is not a number of 1 to {MAX_ATTEMPTS}")
    selections = {key: parse(item[key]) for key, parse in _SELECTIONS.items() if key in item}
    if not selections:
        raise InvalidArgumentError(f"say what to send: {', '.join(_SELECTIONS)}; {{}} sends all of them")
    networks = _parse_networks(item.get("allow_networks", []))
    secret = _read_source(item, "secret", environ, is_required=formats[word] is BodyFormat.JSON)
    return Receiver(
        name,
        _parse_url(_read_source(item, "url", environ, is_required=True) or "", is_internal=bool(networks)),
        None if secret is None else _parse_secret(secret),
        formats[word],
        networks,
        attempts,
        **(dict.fromkeys(_SELECTIONS) | selections),
    )


def _read_source(item: Mapping[str, Any], key: str, environ: Mapping[str, str], *, is_required: bool) -> str | None:
    """Return the value of KEY, KEY_env or KEY_file, of which at most one may be in the file."""
    names = [name for name in (key, f"{key}_env", f"{key}_file") if name in item]
    if len(names) > 1 or (is_required and not names):
        raise InvalidArgumentError(f"write one of {'url, ' if key == 'url' else ''}{key}_env and {key}_file")
    if not names:
        return None
    value = item[names[0]]
    if not isinstance(value, str) or not value:
        raise InvalidArgumentError(f"{names[0]} is not text")
    if names[0].endswith("_env"):
        if not environ.get(value, "").strip():
            raise InvalidArgumentError(f"{names[0]}: the environment variable {value!r:.60} is not set")
        return environ[value].strip()
    if names[0].endswith("_file"):
        try:
            with Path(value).open("rb") as stream:
                return stream.read(_MAX_SECRET_FILE).decode().strip()
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else "is not text"
            raise InvalidArgumentError(f"{names[0]} {value!r:.200}: {reason}") from None
    return value


def _parse_secret(text: str) -> bytes:
    try:
        secret = base64.b64decode(text.removeprefix(_SECRET_PREFIX), validate=True)
    except ValueError:
        secret = b""
    if len(secret) < _MIN_SECRET:
        raise InvalidArgumentError(
            f"the secret is not base64 of at least {_MIN_SECRET} bytes; create one with openssl rand -base64 32"
        )
    return secret


def _parse_url(text: str, *, is_internal: bool) -> SplitResult:
    """Parse a URL; messages don't repeat it, because it may be a secret."""
    try:
        url = urlsplit(text)
        has_host = bool(url.hostname and url.port != 0 and text.isascii() and text.isprintable() and " " not in text)
    except ValueError:
        has_host = False
    if not has_host or url.scheme not in ("https", "http") or url.username is not None or url.fragment:
        raise InvalidArgumentError("url is not https://HOST/PATH without user and fragment")
    if url.scheme == "http" and not is_internal:
        raise InvalidArgumentError("url has no https; only a receiver with allow_networks may have http")
    return url


def _parse_networks(value: Any) -> tuple[IPv4Network | IPv6Network, ...]:
    try:
        if isinstance(value, list) and all(isinstance(text, str) for text in value):
            return tuple(map(ip_network, value))
    except ValueError:
        pass
    raise InvalidArgumentError("allow_networks is not a list of networks, such as [10.0.0.0/8, fd00::/8]")


def _parse_texts(key: str, value: Any, names: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    """Return the texts in a selection; each name has the words that it may be, or none for any text."""
    if not isinstance(value, dict):
        raise InvalidArgumentError(f"{key} is not an object, such as {{}} or {{{next(iter(names))}: …}}")
    for name, text in value.items():
        if name not in names:
            raise InvalidArgumentError(f"{key} has no {name!r:.60}; {suggestion(name, list(names))}")
        if not isinstance(text, str) or (names[name] and text not in names[name]):
            raise InvalidArgumentError(f"{key}: {name} is not {' or '.join(names[name]) or 'text'}")
    return value


def _parse_events(value: Any) -> EventSelection:
    words = {"scope": (), "kind": PART_KINDS, "state": STATES, "action": ACTIONS, "source": EVENT_SOURCES}
    texts = _parse_texts("events", value, {**words, "job": (), "who": ()})
    filters = {name: text for name, text in texts.items() if name != "state"}
    return EventSelection(filters, texts.get("state"))


def _parse_incidents(value: Any) -> IncidentSelection:
    severities = {severity.name.lower(): severity for severity in IncidentSeverity}
    texts = _parse_texts("incidents", value, {"scope": (), "severity": tuple(severities)})
    return IncidentSelection(texts.get("scope"), severities[texts.get("severity", "info")])


def _parse_checks(value: Any) -> CheckSelection:
    names = value.get("names") if isinstance(value, dict) else 0
    if not isinstance(value, dict) or value.keys() - {"names"}:
        raise InvalidArgumentError("checks is not an object, such as {} or {names: [a, b]}")
    if names is not None and not (isinstance(names, list) and all(isinstance(name, str) for name in names)):
        raise InvalidArgumentError("checks: names is not a list of names of checks")
    return CheckSelection(None if names is None else frozenset(names))


_SELECTIONS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "events": _parse_events,
    "incidents": _parse_incidents,
    "checks": _parse_checks,
}
