"""Read the catalog's TOML files; a file is parsed again only after it has changed."""

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from trninv.errors import CatalogError
from trninv.settings import resource_directory

TomlFiles = Mapping[str, Mapping[str, Any]]
"""The content of each file by its name without suffix, in the order of names; read only."""


def catalog_directory() -> Path:
    """Return the directory of the catalog that ships with trninv."""
    return resource_directory() / "seed" / "catalog"


def read_toml_files(directory: Path) -> TomlFiles:
    """Read every TOML file of a directory.

    Raises
    ------
    CatalogError
        The directory has no TOML file, or a file is not valid TOML.
    """
    files = sorted(directory.glob("*.toml"))
    if not files:
        raise CatalogError(f"{directory} has no TOML files")
    return {file.stem: _parse_toml(file, file.stat().st_mtime_ns) for file in files}


@lru_cache(maxsize=32)
def _parse_toml(file: Path, _modified_ns: int) -> Mapping[str, Any]:
    """Return the content of a file; its modification time (nanoseconds) is part of the cache's key."""
    import tomllib  # noqa: PLC0415 # most commands read no file of the catalog

    try:
        return tomllib.loads(file.read_text("utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise CatalogError(f"{file.name}: {error}") from None
