"""Find the wiring patterns in `topology.patterns`."""

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
    """Return every pattern by name, in the order of names.

    Raises
    ------
    CatalogError
        A file of the package defines no pattern of its name.
    """
    return {
        name: _load_pattern(name) for name in sorted(module.name for module in pkgutil.iter_modules(package.__path__))
    }


def pattern_names() -> tuple[str, ...]:
    """Return the names of the patterns."""
    return tuple(all_patterns())


def get_pattern(name: str) -> Pattern:
    """Return the pattern of a name.

    Raises
    ------
    UnknownPatternError
        There is no file of that name.
    """
    if pattern := all_patterns().get(name):
        return pattern
    raise UnknownPatternError(f"no wiring {name!r}: known: {', '.join(pattern_names())}")


@lru_cache(maxsize=256)
def parse_sides(text: str) -> Sides:
    """Parse sides as the database stores them, such as "4x4x4"."""
    return tuple(int(side) for side in text.split("x")) if text else ()


def _load_pattern(name: str) -> Pattern:
    pattern = getattr(import_module(f"{package.__name__}.{name}"), "PATTERN", None)
    if isinstance(pattern, Pattern) and pattern.name == name:
        return pattern
    raise CatalogError(f"topology/patterns/{name}.py: PATTERN is not a Pattern called {name!r}")
