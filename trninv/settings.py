"""Read the settings from the environment, and locate the program's own files."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any

from trninv.errors import UsageError

LEAST_OBSERVATIONS = 100
"""The minimum number of newest observations per machine that are always kept."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings from the environment: each attribute NAME is read from the variable TRNINV_NAME.

    Attributes
    ----------
    database_url
        sqlite:///FILE, or postgresql:// with one host or several.
    bisection_nodes
        Maximum number of search tree nodes of one bisection; after that it answers with proven bounds.
    request_seconds
        Time limit of one request to the service.
    max_cost
        Maximum cost of one GraphQL document.
    auth
        "tokens": every request needs a bearer token; "": none does.
    documents
        Directory of persisted documents (NAME.graphql).
    persisted_only
        Answer persisted documents only.
    introspection, graphiql
        Answer introspection; serve GraphiQL.
    allowed_hosts
        Host names under which requests may address the server, so that another site cannot point a name of its own at
        it. Empty: the names of this machine, or any name if tokens are required.
    cors_origins
        Other origins whose pages may send requests.
    reports
        Directory of the user's own reports (NAME.sql).
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
    jobs
        Directory of sweeps started by GraphQL; by default a temporary one of the running service.
    observe_rows, observe_bytes
        What a token of scope observe may report per hour: rows stored, bytes of requests.
    observations
        Number of newest observations kept per machine.
    compiled
        Compile plain inventory queries to SQL; otherwise execute every document field by field.
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
    log: str = "json"
    sql_url: str = ""
    read_url: str = ""
    answer_bytes: int = 64 * 2**20
    exports: int = 4
    listeners: int = 1_000
    heartbeat: float = 15.0
    jobs: Path | None = None
    observe_rows: int = 10_000
    observe_bytes: int = 16 * 2**20
    observations: int = LEAST_OBSERVATIONS
    compiled: bool = True

    @classmethod
    def load(cls, environ: Mapping[str, str] = os.environ) -> "Settings":
        """Read the settings from the environment.

        Raises
        ------
        UsageError
            A variable has an invalid value.
        """
        texts = {name: environ.get(f"TRNINV_{name.upper()}", "").strip() for name in cls.__annotations__}
        values = {name: _PARSERS[name](name, text) for name, text in texts.items() if text and name in _PARSERS}
        return cls(database_url=texts["database_url"] or default_database(), **values)


def _parse_seconds(name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < inf:
        raise UsageError(f"TRNINV_{name.upper()}={text!r} is not a number of seconds above 0")
    return value


def _parse_number(name: str, text: str) -> int:
    if not (text.isascii() and text.isdecimal() and 0 < int(text[:19]) == int(text)):
        raise UsageError(f"TRNINV_{name.upper()}={text!r} is not a whole number above 0")
    return int(text)


def _observations(name: str, text: str) -> int:
    if (value := _parse_number(name, text)) < LEAST_OBSERVATIONS:
        raise UsageError(f"TRNINV_{name.upper()}={text!r} is less than {LEAST_OBSERVATIONS}, which are always kept")
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
    if not text.startswith("postgresql"):  # the message omits it, for it may hold a password
        raise UsageError(f"TRNINV_{name.upper()} is not a URL of PostgreSQL")
    return text


def _parse_choice(*choices: str) -> Callable[[str, str], str]:
    def parse(name: str, text: str) -> str:
        if text not in choices:
            raise UsageError(f"TRNINV_{name.upper()}={text!r} is not {' or '.join(choices)}")
        return text

    return parse


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
    "log": _parse_choice("json", "text", "off"),
    "sql_url": lambda _name, text: text,
    "read_url": _parse_postgresql_url,
    "answer_bytes": _parse_number,
    "exports": _parse_number,
    "listeners": _parse_number,
    "heartbeat": _parse_seconds,
    "jobs": _parse_directory,
    "observe_rows": _parse_number,
    "observe_bytes": _parse_number,
    "observations": _observations,
    "compiled": _parse_switch,
}


def default_database() -> str:
    """Return the URL of an SQLite file in the user's data directory."""
    import platformdirs  # noqa: PLC0415 # not needed where a URL is given

    return f"sqlite:///{platformdirs.user_data_path('trninv') / 'trninv.db'}"


def resource_directory() -> Path:
    """Return the directory of migrations/, seed/ and alembic.ini: inside the wheel, or the top of a checkout."""
    package = Path(__file__).parent
    bundled = package / "_bundle"
    return bundled if bundled.is_dir() else package.parent
