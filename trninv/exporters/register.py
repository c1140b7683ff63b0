"""The register of formats: every file of `trninv.exporters.formats`, found by listing the package."""

import pkgutil
from functools import cache
from importlib import import_module

from trninv.errors import InternalError
from trninv.exporters import formats as package
from trninv.exporters.format import Format


def names() -> tuple[str, ...]:
    """What the formats are called, in the order of names."""
    return tuple(sorted(module.name.replace("_", "-") for module in pkgutil.iter_modules(package.__path__)))


@cache
def format_of(name: str) -> Format:
    """The format of one of the names.

    Raises
    ------
    InternalError
        Its file holds no Format of that name.

    """
    found = getattr(import_module(f"{package.__name__}.{name.replace('-', '_')}"), "FORMAT", None)
    if isinstance(found, Format) and found.name == name:
        return found
    raise InternalError(f"exporters/formats: FORMAT is not a Format called {name!r}")
