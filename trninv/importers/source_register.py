"""Find the declarations of all sources of observations, one per file of `trninv.importers.sources`.

`trninv import`, `ingestion`, reconciliation and the documentation read them from here, so adding a file to that
folder adds a source.
"""

import pkgutil
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Final

from trninv.importers import sources
from trninv.importers.source_declaration import SourceDeclaration

_UNKNOWN: Final = SourceDeclaration(name="unknown", commands="", content="", read=lambda _: iter(()), expected={})


@cache
def all_sources() -> Mapping[str, SourceDeclaration]:
    """Return the declarations of all sources by name; the first call imports their modules."""
    names = [module.name for module in pkgutil.iter_modules(sources.__path__)]
    declarations = [import_module(f"{sources.__name__}.{name}").SOURCE for name in names]
    return {declaration.name: declaration for declaration in declarations}


def find_source(name: str) -> SourceDeclaration:
    """Return a source's declaration, or if only another version of trninv has the source, one with the least trust."""
    return all_sources().get(name, _UNKNOWN)
