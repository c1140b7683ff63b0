"""Give a fleet one method for each registered change, such as `allocate`; a change writes to the database.

The stub file change_methods.pyi, which tests/fleet_stub.py writes, has their types.
"""

from collections.abc import Callable
from typing import Any

from trninv.placement.changes import NAMES, find
from trninv.routing.question_methods import DeclaredMethod, document_method


class ChangeMethods:
    """A base class with a method for each name in `NAMES`; the end of this module sets them."""


def change_method(name: str) -> DeclaredMethod:
    """Return a descriptor whose method runs the change from the file of this name on a fleet's database."""

    def make_method() -> Callable[..., Any]:
        change = find(name)

        def run(fleet: Any, *arguments: Any, dry_run: bool = False, **keywords: Any) -> Any:
            return fleet.make_change(change, *arguments, dry_run=dry_run, **keywords)

        return document_method(run, change, change.method_parameters)

    return DeclaredMethod(make_method)


for _name in NAMES:
    setattr(ChangeMethods, _name, change_method(_name))
