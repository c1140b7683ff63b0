"""Read the settings from environment variables, and locate the files that belong to trninv."""

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_network
from math import inf
from pathlib import Path
from typing import Any

from trninv.errors import UsageError

LEAST_OBSERVATIONS = 100
"""How many of a machine's newest observations are always kept: the minimum of `Settings.observations`."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings from the environment: each attribute NAME is read from the variable TRNINV_NAME.

    Attributes
    ----------
    database_url
        sqlite:///FILE, or postgresql:// with one host or several.
    bisection_nodes
        Maximum number of search tree nodes for one bisection; beyond it the answer is a pair of proven bounds.
    request_seconds
        Time limit of one request to the service.
    max_cost
        Maximum cost of one GraphQL document.
    auth
        "tokens": every request needs a bearer token; "none" or "": no request needs one.
    documents
        Directory of persisted documents (NAME.graphql).
    persisted_only
        Answer persisted documents only.
    introspection, graphiql
        Answer introspection; serve GraphiQL.
    allowed_hosts
        Host names under which requests may address the server, as protection from DNS rebinding. Empty: the names of
        this machine, or any name if tokens are required.
    cors_origins
        Other origins whose pages may send requests.
    reports
        Directory of the user's own reports (NAME.sql).
    checks
        File of the checks that `trninv serve` evaluates after each change.
    check_results
        File with their results, which another process writes (`trninv check --watch`).
    webhooks
        File of the receivers that `trninv serve` sends events, incidents and results of checks to.
    graph_cache
        Directory for the graph that Cypher reads; see `graph_cache_directory`.
    log
        Format of the request log on stderr: "json", "text" or "off".
    sql_url
        The URL of a PostgreSQL login that owns nothing, for POST /sql and reports.
    read_url
        The URL of one or several PostgreSQL standbys that the service reads from.
    answer_bytes
        Maximum size of an answer to SQL, in bytes.
    exports
        Maximum number of concurrent exports.
    listeners
        Maximum number of concurrent subscribers per process.
    heartbeat
        Seconds between heartbeats to a subscriber without events; its token is checked again at each.
    observe_rows, observe_bytes
        Maximum number of rows, and of request bytes, that a token with the scope observe may report per hour.
    observations
        Number of newest observations kept per machine.
    discover
        Targets that `trninv serve` pulls, such as aws:us-east-2.
    discover_every
        Interval of these pulls, such as 5m.
    group_scopes
        Pairs of a group and a scope, for people; the first pair with one of a person's groups counts. The group "*"
        stands for everybody.
    oidc_issuer, oidc_audience
        Issuer of the OpenID tokens of people, and the audiences of which one must be theirs.
    oidc_jwks
        URL or file of the issuer's public keys.
    oidc_name, oidc_groups
        The claims with a person's name and groups.
    proxy_header, proxy_groups_header
        The headers in which a trusted proxy sends a person's name and groups; without the first, none is read.
    proxy_addresses
        Networks of the trusted proxies.
    enroll_certificates
        PEM file of the certificates that sign EC2 instance identity documents; without one, no instance may enroll.
    enroll_accounts
        AWS accounts whose instances may enroll.
    enroll_lifetime
        Lifetime of an enrolled instance's token, in days or hours.
    """

    database_url: str
    bisection_nodes: int = 5_000
    request_seconds: float = 30.0
    max_cost: int = 100_000
    auth: str = ""
    documents: Path | None = None
    persisted_only: bool = False
    introspection: bool = True
    graphiql: bool = True
    allowed_hosts: tuple[str, ...] = ()
    cors_origins: tuple[str, ...] = ()
    reports: Path | None = None
    checks: Path | None = None
    check_results: Path | None = None
    webhooks: Path | None = None
    graph_cache: str = ""
    log: str = "json"
    sql_url: str = ""
    read_url: str = ""
    answer_bytes: int = 64 * 2**20
    exports: int = 4
    listeners: int = 1_000
    heartbeat: float = 15.0
    observe_rows: int = 10_000
    observe_bytes: int = 16 * 2**20
    observations: int = LEAST_OBSERVATIONS
    discover: tuple[str, ...] = ()
    discover_every: str = "5m"
    group_scopes: tuple[tuple[str, str], ...] = ()
    oidc_issuer: str = ""
    oidc_audience: tuple[str, ...] = ()
    oidc_jwks: str = ""
    oidc_name: str = "email"
    oidc_groups: str = "groups"
    proxy_header: str = ""
    proxy_groups_header: str = "X-Forwarded-Groups"
    proxy_addresses: tuple[IPv4Network | IPv6Network, ...] = ()
    enroll_certificates: Path | None = None
    enroll_accounts: tuple[str, ...] = ()
    enroll_lifetime: str = "30d"

    @classmethod
    def load(cls, environ: Mapping[str, str] = os.environ) -> "Settings":
        """Read the settings from the environment.

        Raises
        ------
        UsageError
            A variable has an invalid value, or lacks another one that it needs.
        """
        texts = {name: environ.get(f"TRNINV_{name.upper()}", "").strip() for name in cls.__annotations__}
        values = {name: _PARSERS[name](name, text) for name, text in texts.items() if text and name in _PARSERS}
        for name, required in _REQUIRED.items():
            missing = [other for other in required if not values.get(other)]
            if values.get(name) and missing:
                variables = " and ".join(f"TRNINV_{other.upper()}" for other in missing)
                raise UsageError(f"TRNINV_{name.upper()} needs {variables}")
        if values.get("auth") != "tokens" and (used := [name for name in _REQUIRED if values.get(name)]):
            raise UsageError(f"TRNINV_{used[0].upper()} needs TRNINV_AUTH=tokens")
        return cls(database_url=texts["database_url"] or default_database(), **values)

    def graph_cache_directory(self) -> Path:
        """Return the directory for the graph that Cypher reads, by default in the user's cache directory."""
        import platformdirs  # noqa: PLC0415 # only needed here

        return Path(self.graph_cache) if self.graph_cache else platformdirs.user_cache_path("trninv") / "graph"


def _parse_seconds(name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < inf:
        raise UsageError(f"TRNINV_{name.upper()}={text!r} is not a number of seconds above 0")
    return value


_MAX_DIGITS = 18


def _parse_number(name: str, text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= _MAX_DIGITS and int(text) > 0):
        raise UsageError(f"TRNINV_{name.upper()}={text!r} is not a whole number above 0")
    return int(text)


def _parse_observations(name: str, text: str) -> int:
    if (value := _parse_number(name, text)) < LEAST_OBSERVATIONS:
        raise UsageError(f"TRNINV_{name.upper()}={text!r} is less than the minimum of {LEAST_OBSERVATIONS}")
    return value


def _parse_words(_name: str, text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(","))


def _parse_switch(name: str, text: str) -> bool:
    if text not in ("0", "1"):
        raise UsageError(f"TRNINV_{name.upper()}={text!r} is neither 0 nor 1")
    return text == "1"


def _parse_directory(name: str, text: str) -> Path:
    if not Path(text).is_dir():
        raise UsageError(f"TRNINV_{name.upper()}={text!r} is not a directory")
    return Path(text)


def _parse_postgresql_url(name: str, text: str) -> str:
    if not text.startswith("postgresql"):  # the message omits the URL, which may hold a password
        raise UsageError(f"TRNINV_{name.upper()} is not a PostgreSQL URL")
    return text


def _parse_choice(*choices: str) -> Callable[[str, str], str]:
    def parse(name: str, text: str) -> str:
        if text not in choices:
            raise UsageError(f"TRNINV_{name.upper()}={text!r} is not {' or '.join(choices)}")
        return text

    return parse


def _parse_text(_name: str, text: str) -> str:
    return text


def _parse_file(name: str, text: str) -> Path:
    if not Path(text).is_file():
        raise UsageError(f"TRNINV_{name.upper()}={text!r} is not a file")
    return Path(text)


def _parse_path(_name: str, text: str) -> Path:
    return Path(text)


def _parse_key_location(name: str, text: str) -> str:
    host = re.match(r"http://(localhost|127\.0\.0\.1|\[::1\])([:/]|$)", text)
    if text.startswith("https://") or host:
        return text
    if "://" in text:
        raise UsageError(f"TRNINV_{name.upper()}={text!r} is neither an https:// URL nor a file")
    return str(_parse_file(name, text))


def _parse_group_scopes(name: str, text: str) -> tuple[tuple[str, str], ...]:
    pairs = [tuple(part.strip() for part in word.rpartition("=")[::2]) for word in text.split(",")]
    if not all(group and scope in _PERSON_SCOPES for group, scope in pairs):
        scopes = f"{', '.join(_PERSON_SCOPES[:-1])} or {_PERSON_SCOPES[-1]}"
        raise UsageError(f"TRNINV_{name.upper()}={text!r} is not GROUP=SCOPE,… with the scopes {scopes}")
    return tuple((group, scope) for group, scope in pairs)


def _parse_header_name(name: str, text: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9-]+", text):
        raise UsageError(f"TRNINV_{name.upper()}={text!r} is not the name of a header")
    return text


def _parse_networks(name: str, text: str) -> tuple[IPv4Network | IPv6Network, ...]:
    try:
        return tuple(ip_network(word) for word in _parse_words(name, text))
    except ValueError:
        raise UsageError(
            f"TRNINV_{name.upper()}={text!r} is not a list of addresses or networks, such as 10.0.0.5,fd00::/64"
        ) from None


def _parse_accounts(name: str, text: str) -> tuple[str, ...]:
    accounts = _parse_words(name, text)
    if not all(re.fullmatch(r"[0-9]{12}", account) for account in accounts):
        raise UsageError(f"TRNINV_{name.upper()}={text!r} is not a list of AWS accounts of 12 digits")
    return accounts


def _parse_lifetime(name: str, text: str) -> str:
    if not re.fullmatch(r"0*[1-9][0-9]{0,3}[dh]", text):
        raise UsageError(f"TRNINV_{name.upper()}={text!r} is not a number of days or hours, such as 30d or 12h")
    return text


_PERSON_SCOPES = ("read", "sql", "operate", "admin")
_REQUIRED: Mapping[str, tuple[str, ...]] = {
    "oidc_issuer": ("oidc_audience", "oidc_jwks", "group_scopes"),
    "proxy_header": ("proxy_addresses", "group_scopes"),
    "enroll_certificates": ("enroll_accounts",),
}
"""Settings that need others, by name; all of them need tokens."""
_PARSERS: Mapping[str, Callable[[str, str], Any]] = {
    "bisection_nodes": _parse_number,
    "request_seconds": _parse_seconds,
    "max_cost": _parse_number,
    "auth": _parse_choice("tokens", "none"),
    "documents": _parse_directory,
    "persisted_only": _parse_switch,
    "introspection": _parse_switch,
    "graphiql": _parse_switch,
    "allowed_hosts": _parse_words,
    "cors_origins": _parse_words,
    "reports": _parse_directory,
    "checks": _parse_file,
    "check_results": _parse_path,
    "webhooks": _parse_file,
    "graph_cache": _parse_text,
    "log": _parse_choice("json", "text", "off"),
    "sql_url": _parse_postgresql_url,
    "read_url": _parse_postgresql_url,
    "answer_bytes": _parse_number,
    "exports": _parse_number,
    "listeners": _parse_number,
    "heartbeat": _parse_seconds,
    "observe_rows": _parse_number,
    "observe_bytes": _parse_number,
    "observations": _parse_observations,
    "discover": _parse_words,
    "discover_every": _parse_text,
    "group_scopes": _parse_group_scopes,
    "oidc_issuer": _parse_text,
    "oidc_audience": _parse_words,
    "oidc_jwks": _parse_key_location,
    "oidc_name": _parse_text,
    "oidc_groups": _parse_text,
    "proxy_header": _parse_header_name,
    "proxy_groups_header": _parse_header_name,
    "proxy_addresses": _parse_networks,
    "enroll_certificates": _parse_file,
    "enroll_accounts": _parse_accounts,
    "enroll_lifetime": _parse_lifetime,
}


def is_service(url: str) -> bool:
    """Return whether a URL is that of a service, which `trninv.connect` takes, rather than of a database."""
    return url.startswith(("https://", "http://"))


def default_database() -> str:
    """Return the URL of an SQLite file in the user's data directory."""
    import platformdirs  # noqa: PLC0415 # not needed if a URL is set

    return f"sqlite:///{platformdirs.user_data_path('trninv') / 'trninv.db'}"


def resource_directory() -> Path:
    """Return the directory of migrations/, seed/, deploy/ and the like: inside the wheel, or the top of a checkout."""
    package = Path(__file__).parent
    bundled = package / "_bundle"
    return bundled if bundled.is_dir() else package.parent


def site_directory() -> Path:
    """Return the directory of the documentation site, which may be missing in a checkout: `./run docs` builds it."""
    return resource_directory() / "site" / "html"
