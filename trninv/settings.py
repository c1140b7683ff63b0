"""Settings from the environment (prefix TRNINV_) and where the program's own files are."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from pathlib import Path

from trninv.errors import UsageError

_DATABASE = "TRNINV_DATABASE_URL"


@dataclass(frozen=True, slots=True)
class Settings:
    """What the environment decides.

    Attributes
    ----------
    database_url
        Any SQLAlchemy URL of SQLite or PostgreSQL (TRNINV_DATABASE_URL).
    bisection_seconds
        How long one bisection may search before it answers with proven bounds (TRNINV_BISECTION_SECONDS).

    """

    database_url: str
    bisection_seconds: float

    @classmethod
    def load(cls, environ: Mapping[str, str] = os.environ) -> "Settings":
        seconds = environ.get("TRNINV_BISECTION_SECONDS", "10")
        try:
            limit = float(seconds)
        except ValueError:
            limit = 0.0
        if not 0 < limit < inf:
            raise UsageError(f"TRNINV_BISECTION_SECONDS={seconds!r} is not a number of seconds above 0")
        return cls(database_url=environ.get(_DATABASE) or default_database(), bisection_seconds=limit)


def default_database() -> str:
    """URL of the SQLite file in the user's data directory."""
    import platformdirs  # noqa: PLC0415 # not needed where a URL is given

    return f"sqlite:///{platformdirs.user_data_path('trninv') / 'trninv.db'}"


def bundle() -> Path:
    """Directory that holds migrations/, seed/ and alembic.ini: in the wheel, or the top of a checkout."""
    package = Path(__file__).parent
    bundled = package / "_bundle"
    return bundled if bundled.is_dir() else package.parent
