"""How a question is declared: a plain function, whose signature says what may be asked and whose docstring what it is.

    @question(price=ROUTED, examples=("distances u-trn2x64",))
    def distances(reader: Reader, of: Annotated[str, Argument("Chip, … or cluster.")]) -> DistanceAnswer:
        '''How many hops apart the chips of a scope are.'''

The types of its parameters are those below `FORMS`. The command, the GraphQL field, the cost of a document and the
reference page (docs/reference/questions.md) are made from the declaration.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import UnionType
from typing import Any, Final, TypeVar, Union, get_args, get_origin

from trninv.choice import DescribedEnum
from trninv.errors import InvalidArgumentError
from trninv.inventory.named import split_link
from trninv.routing.answer import Answer
from trninv.routing.scenario import unique_addresses
from trninv.units import Bandwidth, Capacity, Quantity

A = TypeVar("A", bound=Answer)

ROUTED_COST: Final = 4_000
"""Price of what routes: milliseconds to seconds of a processor; an object of a GraphQL answer costs 1."""
SCAN_COST: Final = 100
"""Price of a count or a sum, of a list that is found whole, and of a change."""


class FreeText(str):
    """Words that are no address, such as a shape."""

    __slots__ = ()


PARAMETER_TYPES: Final = (str, tuple, DescribedEnum, bool, int, Capacity, Bandwidth)
"""What a parameter may be: an address (or `Text`), addresses, one of some words, a switch, a number, bytes, bytes per
second."""


@dataclass(frozen=True, slots=True)
class Argument:
    """What a parameter says beside its name, type and default.

    Attributes
    ----------
    says
        What it means, in one sentence.
    least, most
        Of a number.
    name
        In GraphQL, where that is not the parameter's in camelCase.
    option
        On the command line, where that is not --NAME; what has no default and no option stands without a name.
        Empty of words that are each a switch of its own.
    metavar
        What stands for the value in the command's help.
    positional
        Whether it stands without a name on the command line, though it has a default.

    """

    description: str
    minimum: int = 0
    maximum: int | None = None
    name: str = ""
    option: str | None = None
    metavar: str = ""
    positional: bool = False


@dataclass(frozen=True, slots=True)
class QuestionParameter:
    """A parameter of a question: `form` is one of `FORMS`."""

    name: str
    value_type: type
    argument: Argument
    default: Any
    is_optional: bool

    @classmethod
    def from_signature(cls, parameter: inspect.Parameter) -> "QuestionParameter":
        """As a function declares it."""
        value_type, argument = get_args(parameter.annotation)
        is_optional = get_origin(value_type) in (Union, UnionType)
        if is_optional:
            value_type = next(member for member in get_args(value_type) if member is not type(None))
        return cls(parameter.name, get_origin(value_type) or value_type, argument, parameter.default, is_optional)

    @property
    def is_required(self) -> bool:
        """Whether it has no default."""
        return self.default is inspect.Parameter.empty

    @property
    def description(self) -> str:
        """What it means, with its limits."""
        minimum, maximum = self.argument.minimum, self.argument.maximum
        return (
            self.argument.description
            if maximum is None
            else f"{self.argument.description.removesuffix('.')}: {minimum:,} to {maximum:,}."
        )

    @property
    def choices(self) -> tuple[DescribedEnum, ...]:
        """Its possible values, if it is an enumeration; otherwise empty."""
        return tuple(self.value_type) if issubclass(self.value_type, DescribedEnum) else ()

    def coerce(self, value: Any) -> Any:  # of any form
        """A value as a caller gives it, in the parameter's form.

        Raises
        ------
        LimitError, UnitError
            It can't be one.

        """
        if value is None and self.is_optional:
            return None
        if self.choices:
            return self._choice(str(value))
        if issubclass(self.value_type, tuple):
            return tuple(unique_addresses(value))
        if issubclass(self.value_type, Quantity):
            value = self.value_type.parse(value) if isinstance(value, str) else self.value_type(value)
        if issubclass(self.value_type, int) and self.value_type is not bool:
            self._check_limits(value)
        return value

    def _choice(self, value: str) -> DescribedEnum:
        choices = {choice.name: choice for choice in self.choices}
        if (name := value.upper().replace("-", "_")) not in choices:
            raise InvalidArgumentError(f"{self.name} {value!r}: choose {' or '.join(choices).lower()}")
        return choices[name]

    def _check_limits(self, value: int) -> None:
        minimum, maximum = self.argument.minimum, self.argument.maximum
        if value < minimum or (maximum is not None and value > maximum):
            limits = f"{minimum} or more" if maximum is None else f"{minimum:,} to {maximum:,}"
            unit = {Capacity: " bytes", Bandwidth: " bytes per second"}.get(self.value_type, "")
            raise InvalidArgumentError(f"{self.name} {int(value):,}: ask for {limits}{unit}")


@dataclass(frozen=True)
class Question:
    """A question that a fleet answers.

    Attributes
    ----------
    function
        Takes a `trninv.routing.wiring.Reader` and the parameters.
    price
        What it costs a GraphQL document.
    command
        Its name on the command line.
    field
        Its name in GraphQL; empty where no field of the Query type asks it.
    job
        The mutation that begins it as a job, where it takes too long for a request.
    examples
        Commands that ask it.
    remembered
        Answers it from what is remembered of a state of the database, or gives None; takes a
        `trninv.routing.fabric_cache.FabricCache` and the parameters.
    compares
        Whether an answer in a scenario has the answer without it as its baseline.

    """

    function: Callable[..., Answer]
    cost: int
    command: str
    field: str
    examples: Sequence[str]
    answer_from_cache: Callable[..., Answer | None] | None = None
    has_baseline: bool = True
    job_mutation: str = ""

    @property
    def name(self) -> str:
        """Its name in Python."""
        return self.function.__name__

    @cached_property
    def description(self) -> str:
        """What it asks, in a sentence or two."""
        return inspect.getdoc(self.function) or ""

    @cached_property
    def signature(self) -> inspect.Signature:
        """Its parameters, the reader left out."""
        full = inspect.signature(self.function)
        return full.replace(parameters=list(full.parameters.values())[1:])

    @cached_property
    def parameters(self) -> tuple[QuestionParameter, ...]:
        """What is asked; the keyword-only ones of the function are means, which only Python gives."""
        positional = (
            parameter
            for parameter in self.signature.parameters.values()
            if parameter.kind is not inspect.Parameter.KEYWORD_ONLY
        )
        return tuple(map(QuestionParameter.from_signature, positional))

    @cached_property
    def _by_name(self) -> dict[str, QuestionParameter]:
        return {parameter.name: parameter for parameter in self.parameters}

    @cached_property
    def _defaults(self) -> dict[str, Any]:
        """What is not given, in the forms of the parameters."""
        no_default, by_name = inspect.Parameter.empty, self._by_name
        defaults = {
            name: parameter.default
            for name, parameter in self.signature.parameters.items()
            if parameter.default is not no_default
        }
        return {name: by_name[name].coerce(value) if name in by_name else value for name, value in defaults.items()}

    @property
    def answer_type(self) -> type[Answer]:
        """The class of its answers."""
        annotation: type[Answer] = self.signature.return_annotation
        return annotation

    def coerce_values(self, *arguments: Any, **keywords: Any) -> dict[str, Any]:  # of any form
        """What is asked, in the forms of the parameters.

        Raises
        ------
        LimitError, UnitError
            A value is beyond its limits.

        """
        passed = self.signature.bind(*arguments, **keywords).arguments if arguments else keywords
        by_name = self._by_name
        coerced = {name: by_name[name].coerce(value) if name in by_name else value for name, value in passed.items()}
        return self._defaults | coerced

    def addresses(self, values: Mapping[str, Any]) -> Iterator[str]:  # of any form
        """The places that these values, in the forms of the parameters, name: of a link, both ends."""
        for parameter in self.parameters:
            if parameter.value_type is str and (value := values[parameter.name]) is not None:
                yield from split_link(value)


def question(
    *,
    cost: int,
    command: str = "",
    field: str | None = None,
    examples: Sequence[str],
    answer_from_cache: Callable[..., Answer | None] | None = None,
    has_baseline: bool = True,
    job_mutation: str = "",
) -> Callable[[Callable[..., A]], Question]:
    """Declare a question; see `Question`. `command` and `field` follow from the function's name unless given."""

    def declare(function: Callable[..., A]) -> Question:
        first, *rest = function.__name__.split("_")
        camel_case = first + "".join(map(str.capitalize, rest))
        command_name = command or function.__name__.replace("_", "-")
        field_name = camel_case if field is None else field
        return Question(
            function, cost, command_name, field_name, examples, answer_from_cache, has_baseline, job_mutation
        )

    return declare
