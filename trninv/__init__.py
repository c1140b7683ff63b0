"""trninv: what AWS Trainium fleets are made of, how they are wired, and what that wiring can carry.

>>> import trninv
>>> fleet = trninv.open("sqlite:///fleet.db")          # doctest: +SKIP
>>> fleet.path("u-trn2x64/d0/s0/c0", "u-trn2x64/d0/s2/c5").paths[0].hops   # doctest: +SKIP
4
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trninv.placement.placement_fleet import Fleet
    from trninv.remote.async_fleet import AsyncFleet
    from trninv.remote.http_clients import Token
    from trninv.remote.remote_fleet import RemoteFleet

__all__ = ["Fleet", "connect", "connect_async", "open"]

__version__ = "1.0.0"


def open(url: str | None = None, *, seconds: float | None = None) -> "Fleet":  # noqa: A001 # used as trninv.open(…)
    """Open a database and return a `Fleet`, which answers questions about it.

    `url` is an SQLAlchemy URL of an SQLite or PostgreSQL database. The default is the URL in TRNINV_DATABASE_URL or, if
    that variable is unset, a file in the user's data directory. `seconds` limits the time of each statement on
    PostgreSQL; it is ignored for SQLite.
    """
    from trninv.database.engine import open_engine  # noqa: PLC0415 # `import trninv` stays light
    from trninv.placement.placement_fleet import Fleet  # noqa: PLC0415
    from trninv.settings import Settings  # noqa: PLC0415

    return Fleet(open_engine(Settings.load().database_url if url is None else url, seconds))


def connect(url: str, *, token: "Token | None" = None, seconds: float = 60.0) -> "RemoteFleet":
    """Return a `Fleet` whose questions, changes and lists a service answers over HTTP.

    `token` is a bearer token, or a function that returns it; by default it is the token in TRNINV_TOKEN or in the file
    that TRNINV_TOKEN_FILE names, if either is set. `seconds` limits the time without an answer. Calls that change
    nothing are sent again if the service is busy; a change never is.
    """
    from trninv.importers.observation_sender import read_token  # noqa: PLC0415 # `import trninv` stays light
    from trninv.remote.call_builder import CallBuilder  # noqa: PLC0415
    from trninv.remote.exchange import parse_service_url  # noqa: PLC0415
    from trninv.remote.http_clients import HttpClient  # noqa: PLC0415
    from trninv.remote.remote_fleet import RemoteFleet  # noqa: PLC0415

    calls = CallBuilder(parse_service_url(url))
    return RemoteFleet(calls, HttpClient(read_token if token is None else token, seconds))


def connect_async(url: str, *, token: "Token | None" = None, seconds: float = 60.0) -> "AsyncFleet":
    """Return a fleet of a service as `connect` does, whose questions, changes and lists are awaited."""
    from trninv.importers.observation_sender import read_token  # noqa: PLC0415 # as above
    from trninv.remote.async_fleet import AsyncFleet  # noqa: PLC0415
    from trninv.remote.call_builder import CallBuilder  # noqa: PLC0415
    from trninv.remote.exchange import parse_service_url  # noqa: PLC0415
    from trninv.remote.http_clients import AsyncHttpClient  # noqa: PLC0415

    calls = CallBuilder(parse_service_url(url))
    return AsyncFleet(calls, AsyncHttpClient(read_token if token is None else token, seconds))


def __getattr__(name: str) -> Any:
    """Import `Fleet` when it is first used, so that ``import trninv`` stays light."""
    if name == "Fleet":
        from trninv.placement.placement_fleet import Fleet  # noqa: PLC0415

        return Fleet
    raise AttributeError(f"module 'trninv' has no attribute {name!r}")
