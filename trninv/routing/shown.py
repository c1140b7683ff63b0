"""What the class of an answer shows: its fields and properties, with their types and what they say."""

import dataclasses
import inspect
from functools import cache
from typing import Annotated, Any, get_args, get_origin

from trninv.routing.answer import Form


@dataclasses.dataclass(frozen=True, slots=True)
class Shown:
    """A field or property: ``hint`` is its type, ``forms`` how the schema shows it."""

    name: str
    hint: Any
    forms: frozenset[Form]
    says: str


@cache
def shown(kind: type) -> tuple[Shown, ...]:
    """What a dataclass shows: its fields in their order, then its properties; what is hidden is left out."""
    fields = {field.name: _shown(field.name, field.type, "") for field in dataclasses.fields(kind)}
    properties = {
        name: _shown(name, inspect.signature(member.fget).return_annotation, inspect.getdoc(member) or "")
        for parent in kind.__mro__
        for name, member in vars(parent).items()
        if isinstance(member, property) and member.fget
    }
    return tuple(each for each in (fields | properties).values() if Form.HIDDEN not in each.forms)


def _shown(name: str, hint: Any, says: str) -> Shown:  # a type
    hint, notes = unannotated(hint)
    said = next((note for note in notes if isinstance(note, str)), says)
    return Shown(name, hint, frozenset(note for note in notes if isinstance(note, Form)), said)


def unannotated(hint: Any) -> tuple[Any, tuple[Any, ...]]:  # a type
    """A type without what is noted beside it, and the notes."""
    if get_origin(hint) is not Annotated:
        return hint, ()
    inner, *notes = get_args(hint)
    return inner, tuple(notes)
