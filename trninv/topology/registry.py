"""Find the wiring patterns, which are defined one per file in `trninv.topology.patterns`."""

import pkgutil
from collections.abc import Mapping
from functools import lru_cache
from importlib import import_module

from trninv.errors import CatalogError, UnknownPatternError
from trninv.topology import patterns as package
from trninv.topology.blueprint import Sides
from trninv.topology.pattern import Pattern


@lru_cache(maxsize=1)
def all_patterns() -> Mapping[str, Pattern]:
    """Return all patterns by name, sorted by name.

    Raises
    ------
    CatalogError
        A file of the package defines no pattern with the file's name.
    """
    return {
        name: _load_pattern(name) for name in sorted(module.name for module in pkgutil.iter_modules(package.__path__))
    }


def get_pattern(name: str) -> Pattern:
    """Return the wiring pattern with a name.

    Raises
    ------
    UnknownPatternError
        No pattern has this name.
    """
    if pattern := all_patterns().get(name):
        return pattern
    raise UnknownPatternError(f"no wiring pattern {name!r}; use one of {', '.join(all_patterns())}")


@lru_cache(maxsize=256)
def parse_sides(text: str) -> Sides:
    """Parse the sides of a pattern as the database stores them, such as "4x4x4"."""
    return tuple(int(side) for side in text.split("x")) if text else ()


def _load_pattern(name: str) -> Pattern:
    pattern = getattr(import_module(f"{package.__name__}.{name}"), "PATTERN", None)
    if isinstance(pattern, Pattern) and pattern.name == name:
        return pattern
    raise CatalogError(f"topology/patterns/{name}.py: PATTERN is not a Pattern called {name!r}")
