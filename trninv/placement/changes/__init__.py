"""Register the changes, one file each, of this package, `trninv.inventory.changes` and `trninv.reconcile.changes`.

A change is a function that writes to the database and records events. The command line, GraphQL and `trninv.open`
offer every change that is registered.
"""

import pkgutil
from functools import cache
from importlib import import_module
from typing import Any, Final

from trninv.inventory import changes as inventory_changes
from trninv.inventory.change import Change
from trninv.reconcile import changes as reconcile_changes

_PACKAGES: Final = (
    (inventory_changes.__name__, inventory_changes.__path__),
    (reconcile_changes.__name__, reconcile_changes.__path__),
    (__name__, __path__),
)
_PACKAGE_BY_NAME: Final = {
    module.name: package
    for package, path in _PACKAGES
    for module in pkgutil.iter_modules(path)
    if module.name != "__main__"
}
NAMES: Final = tuple(_PACKAGE_BY_NAME)
"""Names of the changes, which are those of their files, package by package."""


@cache
def find(name: str) -> Change[..., Any]:
    """Return the change that the file of this name declares."""
    values = vars(import_module(f"{_PACKAGE_BY_NAME[name]}.{name}")).values()
    (change,) = (value for value in values if isinstance(value, Change))
    return change


@cache
def all_changes() -> tuple[Change[..., Any], ...]:
    """Return all changes, by package and file name."""
    return tuple(map(find, NAMES))
