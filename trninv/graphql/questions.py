"""The routing questions, of the wiring as it is and of what it would be: a field for each that is declared."""

from collections.abc import Mapping
from typing import Any, Final

import strawberry
from strawberry.annotation import StrawberryAnnotation
from strawberry.types.arguments import StrawberryArgument
from strawberry.utils.str_converters import to_camel_case as camel

from trninv import units
from trninv.graphql.answers import object_type, word_type
from trninv.graphql.context import AppInfo
from trninv.graphql.lazy import list_of
from trninv.graphql.scalars import Address, BandwidthInput, BigInt
from trninv.jobs import questions as of_jobs
from trninv.routing.fleet import Fleet
from trninv.routing.question import Parameter, Question, Text
from trninv.routing.questions import every

_FORMS: Final[dict[type, Any]] = {
    str: Address,
    Text: str,
    tuple: list_of(Address),
    bool: bool,
    int: int,
    units.Capacity: BigInt,
    units.Bandwidth: BandwidthInput,
}


@strawberry.input(description="A place or link, and the part of what it carries now that is left.")
class Derating:
    address: Address = strawberry.field(description="Of the place or link.")
    factor: float = strawberry.field(description="More than 0, less than 1.")


@strawberry.input(description="A job, and what it would hold.")
class Holding:
    job: str = strawberry.field(description="Its name.")
    places: list[Address] = strawberry.field(description="Chips, servers, racks or domains.")


def values(given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a field as a question takes them."""
    named = {name: value for name, value in given.items() if value is not None}
    return named | {name: value.exact() for name, value in named.items() if isinstance(value, BandwidthInput)}


def _field(question: Question) -> Any:
    async def resolve(self: Any, info: AppInfo, **given: Any) -> Any:
        fleet = self.fleet if isinstance(self, Scenario) else info.context.fleet
        return await info.context.ask(fleet.ask, question, **values(given))

    field: Any = strawberry.field(
        resolver=resolve,
        description=question.says,
        graphql_type=object_type(question.answer),
        metadata={"price": question.price, "question": question},
    )
    field.arguments = arguments_of(question)
    return field


def arguments_of(question: Question) -> list[StrawberryArgument]:
    """What a field takes that asks a question."""
    return [_argument(each) for each in question.parameters]


def _argument(of: Parameter) -> StrawberryArgument:
    form = word_type(of.form) if of.words else _FORMS[of.form]
    default = strawberry.UNSET if of.required else of.default
    if of.form in (tuple, units.Capacity, units.Bandwidth) and not of.required:
        form, default = form | None, None
    elif of.optional:
        form = form | None
    name = of.argument.name or camel(of.name)
    return StrawberryArgument(of.name, name, StrawberryAnnotation(form), description=of.says, default=default)


class Questions:
    """The questions: what Query and Scenario have in common."""


for _question in (*every(), *of_jobs.every()):
    if _question.field:
        setattr(Questions, _question.field, _field(_question))
strawberry.type(Questions)


@strawberry.type(description="What would be: answers have the unchanged wiring's as baseline, and the difference.")
class Scenario(Questions):
    fleet: strawberry.Private[Fleet]
