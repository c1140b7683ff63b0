"""List the fields and properties of an answer class that users see."""

import dataclasses
import inspect
from functools import cache
from typing import Annotated, Any, get_args, get_origin

from trninv.routing.answer import SchemaScalar


@dataclasses.dataclass(frozen=True, slots=True)
class AnswerField:
    """A field or property of an answer, with its type, its representations in the schema and its description."""

    name: str
    type_hint: Any
    scalars: frozenset[SchemaScalar]
    description: str


@cache
def answer_fields(answer_type: type) -> tuple[AnswerField, ...]:
    """Return a dataclass's fields in their order, then its properties, without those marked HIDDEN."""
    fields = {field.name: _to_field(field.name, field.type, "") for field in dataclasses.fields(answer_type)}
    properties = {
        name: _to_field(name, inspect.signature(member.fget).return_annotation, inspect.getdoc(member) or "")
        for parent in answer_type.__mro__
        for name, member in vars(parent).items()
        if isinstance(member, property) and member.fget
    }
    return tuple(
        answer_field
        for answer_field in (fields | properties).values()
        if SchemaScalar.HIDDEN not in answer_field.scalars
    )


def _to_field(name: str, type_hint: Any, default: str) -> AnswerField:  # Any: a type
    type_hint, notes = strip_annotations(type_hint)
    description = next((note for note in notes if isinstance(note, str)), default)
    return AnswerField(
        name, type_hint, frozenset(note for note in notes if isinstance(note, SchemaScalar)), description
    )


def strip_annotations(type_hint: Any) -> tuple[Any, tuple[Any, ...]]:  # Any: a type
    """Split an annotated type into the type and its annotations."""
    if get_origin(type_hint) is not Annotated:
        return type_hint, ()
    inner, *notes = get_args(type_hint)
    return inner, tuple(notes)
