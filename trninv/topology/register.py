"""The register of wiring patterns: every file of `trninv.topology.patterns`, found by listing the package."""

import pkgutil
from collections.abc import Mapping
from functools import lru_cache
from importlib import import_module

from trninv.errors import CatalogError, UnknownWiringError
from trninv.topology import patterns as package
from trninv.topology.blueprint import Sides
from trninv.topology.pattern import Pattern


@lru_cache(maxsize=1)
def patterns() -> Mapping[str, Pattern]:
    """Every pattern by its name, in the order of names.

    Raises
    ------
    CatalogError
        A file of the package holds no pattern of its name.

    """
    return {name: _pattern(name) for name in sorted(module.name for module in pkgutil.iter_modules(package.__path__))}


def wirings() -> tuple[str, ...]:
    """Names of the patterns."""
    return tuple(patterns())


def pattern(name: str) -> Pattern:
    """The pattern of a name.

    Raises
    ------
    UnknownWiringError
        No file is called so.

    """
    if found := patterns().get(name):
        return found
    raise UnknownWiringError(f"no wiring {name!r}: known: {', '.join(wirings())}")


@lru_cache(maxsize=256)
def sides(text: str) -> Sides:
    """Sides as the database has them, such as "4x4x4"."""
    return tuple(int(side) for side in text.split("x")) if text else ()


def _pattern(name: str) -> Pattern:
    found = getattr(import_module(f"{package.__name__}.{name}"), "PATTERN", None)
    if isinstance(found, Pattern) and found.name == name:
        return found
    raise CatalogError(f"topology/patterns/{name}.py: PATTERN is not a Pattern called {name!r}")
