"""The catalog's TOML files, each read once: facts and models are both made from them."""

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from trninv.errors import CatalogError
from trninv.settings import bundle

Files = Mapping[str, Mapping[str, Any]]
"""What each file holds, by its name without the suffix, in the order of names; not to be changed."""


def directory() -> Path:
    """Where the catalog is that ships with trninv."""
    return bundle() / "seed" / "catalog"


def read(at: Path) -> Files:
    """Every TOML file of a directory.

    Raises
    ------
    CatalogError
        There is none, or one is not TOML.

    """
    files = sorted(at.glob("*.toml"))
    if not files:
        raise CatalogError(f"no catalog in {at}")
    return {file.stem: _parsed(file, file.stat().st_mtime_ns) for file in files}


@lru_cache(maxsize=32)
def _parsed(file: Path, _changed: int) -> Mapping[str, Any]:
    import tomllib  # noqa: PLC0415 # most commands read no file of the catalog

    try:
        return tomllib.loads(file.read_text("utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise CatalogError(f"{file.name}: {error}") from None
