"""Find formats by name: every module of `trninv.exporters.formats` declares one."""

import pkgutil
from functools import cache
from importlib import import_module

from trninv.errors import InternalError
from trninv.exporters import formats as package
from trninv.exporters.format import Format


def format_names() -> tuple[str, ...]:
    """Return the names of all formats in order."""
    return tuple(sorted(module.name.replace("_", "-") for module in pkgutil.iter_modules(package.__path__)))


@cache
def find_format(name: str) -> Format:
    """Return the format of one of the names.

    Raises
    ------
    InternalError
        Its module declares no Format of that name.

    """
    declared = getattr(import_module(f"{package.__name__}.{name.replace('-', '_')}"), "FORMAT", None)
    if isinstance(declared, Format) and declared.name == name:
        return declared
    raise InternalError(f"exporters/formats: FORMAT is not a Format called {name!r}")
