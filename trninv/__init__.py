"""trninv: what AWS Trainium fleets are made of, how they are wired, and what that wiring can carry.

>>> import trninv
>>> fleet = trninv.open("sqlite:///fleet.db")          # doctest: +SKIP
>>> fleet.path("u-trn2x64/d0/s0/c0", "u-trn2x64/d0/s2/c5").paths[0].hops   # doctest: +SKIP
4
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trninv.placement.placement_fleet import Fleet

__all__ = ["Fleet", "open"]

__version__ = "0.1.0"


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


def __getattr__(name: str) -> Any:
    """Import `Fleet` when it is first used, so that ``import trninv`` stays light."""
    if name == "Fleet":
        from trninv.placement.placement_fleet import Fleet  # noqa: PLC0415

        return Fleet
    raise AttributeError(f"module 'trninv' has no attribute {name!r}")
