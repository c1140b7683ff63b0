"""Read the catalog's TOML files, each once."""

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


def read_toml_files(directory_: Path) -> TomlFiles:
    """Read every TOML file of a directory.

    Raises
    ------
    CatalogError
        There is none, or one is not TOML.
    """
    files = sorted(directory_.glob("*.toml"))
    if not files:
        raise CatalogError(f"{directory_} has no TOML files")
    return {file.stem: _parse_toml(file, file.stat().st_mtime_ns) for file in files}


@lru_cache(maxsize=32)
def _parse_toml(file: Path, _changed: int) -> Mapping[str, Any]:
    import tomllib  # noqa: PLC0415 # most commands read no file of the catalog

    try:
        return tomllib.loads(file.read_text("utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise CatalogError(f"{file.name}: {error}") from None
