"""Declare questions as annotated functions and render their reference page.

A question is a function: its signature declares the parameters and its docstring is the description that users see.

    @question(cost=ROUTED_COST, examples=("distances u-trn2x64",))
    def distances(reader: SnapshotReader, scope: Annotated[str, Argument("Chip, … or cluster.")]) -> DistanceAnswer:
        '''Measure the hops between the chips of a scope.'''

Parameters have one of the PARAMETER_TYPES. The command, the GraphQL field, the cost of a document and the reference
page (docs/reference/questions.md) are generated from the declaration.
"""

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import UnionType
from typing import Any, Final, TypeVar, Union, get_args, get_origin

from trninv.enumeration import DescribedEnum
from trninv.errors import InvalidArgumentError
from trninv.inventory.address.machine_names import split_link
from trninv.routing.answer import Answer, answer_fields
from trninv.routing.scenario import unique_addresses
from trninv.units import Bandwidth, Capacity, Quantity

A = TypeVar("A", bound=Answer)
ROUTED_COST: Final = 4_000
"""Cost of a routing question: milliseconds to seconds of CPU time; an object of a GraphQL answer costs 1."""
SCAN_COST: Final = 100
"""Cost of a count, a sum, a list that is read as a whole, or a change."""


class FreeText(str):
    """Text that is not an address, such as a shape or a time."""

    __slots__ = ()


PARAMETER_TYPES: Final = (str, tuple, DescribedEnum, bool, int, Capacity, Bandwidth)
"""Types of a parameter: an address (or `FreeText`), addresses, a choice, a flag, a number, bytes, bytes per second."""


@dataclass(frozen=True, slots=True)
class Argument:
    """Metadata of a parameter beyond its name, type and default.

    Attributes
    ----------
    description
        Its meaning, in one sentence that users see.
    minimum, maximum
        Limits of a number, inclusive.
    name
        Its name in GraphQL, if not the parameter's name in camelCase.
    option
        Its option on the command line, if not --NAME. A parameter with neither a default nor an option is positional;
        an empty option makes each choice a flag.
    metavar
        Placeholder of the value in the command's help.
    positional
        Whether it is positional on the command line although it has a default.

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
    """A parameter of a question; its type is one of the PARAMETER_TYPES."""

    name: str
    value_type: type
    argument: Argument
    default: Any
    is_optional: bool

    @classmethod
    def from_signature(cls, parameter: inspect.Parameter) -> "QuestionParameter":
        """Build it from a parameter of the question's function."""
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
        """Meaning and limits."""
        minimum, maximum = self.argument.minimum, self.argument.maximum
        return (
            self.argument.description
            if maximum is None
            else f"{self.argument.description.removesuffix('.')}: {minimum:,} to {maximum:,}."
        )

    @property
    def choices(self) -> tuple[DescribedEnum, ...]:
        """Possible values of a choice; empty for other types."""
        return tuple(self.value_type) if issubclass(self.value_type, DescribedEnum) else ()

    def coerce(self, value: Any) -> Any:  # Any: as a caller passes it
        """Convert a caller's value to the parameter's type.

        Raises
        ------
        InvalidArgumentError, UnitError
            The value is malformed or beyond the limits.

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
            raise InvalidArgumentError(f"{self.name}: {value!r} is not a choice; choose {' or '.join(choices).lower()}")
        return choices[name]

    def _check_limits(self, value: int) -> None:
        minimum, maximum = self.argument.minimum, self.argument.maximum
        if value < minimum or (maximum is not None and value > maximum):
            limits = f"{minimum} or more" if maximum is None else f"{minimum:,} to {maximum:,}"
            unit = {Capacity: " bytes", Bandwidth: " bytes per second"}.get(self.value_type, "")
            raise InvalidArgumentError(f"{self.name} {int(value):,} is out of range; use {limits}{unit}")


@dataclass(frozen=True)
class Question:
    """A question that a fleet answers.

    Attributes
    ----------
    function
        Takes a `trninv.routing.wiring_cache.SnapshotReader` and the parameters.
    cost
        Its cost in a GraphQL document.
    command
        Its name on the command line; with an option, if another question has the command without it.
    field
        Its field of GraphQL's Query type; empty if it has none.
    examples
        Commands that ask it.
    answer_from_cache
        Takes a `trninv.routing.path_cache.PathCache` and the parameters; returns the answer, or None if it is not
        cached.
    has_baseline
        Whether an answer in a scenario has the answer without it as its baseline.
    job_mutation
        The mutation that starts it as a job, if it takes too long for a request.

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
        """Name in Python."""
        return self.function.__name__

    @cached_property
    def description(self) -> str:
        """Description that users see."""
        return inspect.getdoc(self.function) or ""

    @cached_property
    def signature(self) -> inspect.Signature:
        """Signature of the function without the reader."""
        full = inspect.signature(self.function)
        return full.replace(parameters=list(full.parameters.values())[1:])

    @cached_property
    def parameters(self) -> tuple[QuestionParameter, ...]:
        """Parameters of the question, without the function's keyword-only ones, which exist in Python alone."""
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
        """Default values, converted to the parameters' types."""
        no_default, by_name = inspect.Parameter.empty, self._by_name
        defaults = {
            name: parameter.default
            for name, parameter in self.signature.parameters.items()
            if parameter.default is not no_default
        }
        return {name: by_name[name].coerce(value) if name in by_name else value for name, value in defaults.items()}

    @property
    def answer_type(self) -> type[Answer]:
        """Class of the answers."""
        annotation: type[Answer] = self.signature.return_annotation
        return annotation

    def coerce_values(self, *arguments: Any, **keywords: Any) -> dict[str, Any]:  # Any: as a caller passes them
        """Convert a caller's arguments to the parameters' types, and add the defaults.

        Raises
        ------
        InvalidArgumentError, UnitError
            A value is malformed or beyond its limits.

        """
        passed = self.signature.bind(*arguments, **keywords).arguments if arguments else keywords
        by_name = self._by_name
        coerced = {name: by_name[name].coerce(value) if name in by_name else value for name, value in passed.items()}
        return self._defaults | coerced

    def addresses(self, values: Mapping[str, Any]) -> Iterator[str]:  # Any: of any parameter type
        """Yield the addresses of the places in converted values; for a link, its two ends."""
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
    """Declare a question; see `Question`. By default `command` and `field` derive from the function's name."""

    def declare(function: Callable[..., A]) -> Question:
        first, *rest = function.__name__.split("_")
        camel_case = first + "".join(map(str.capitalize, rest))
        command_name = command or function.__name__.replace("_", "-")
        field_name = camel_case if field is None else field
        return Question(
            function, cost, command_name, field_name, examples, answer_from_cache, has_baseline, job_mutation
        )

    return declare


_HEADER = """# Questions

Generated from the declarations in trninv/routing/questions and trninv/placement/questions by `python -m
trninv.placement.questions`; do not edit this page.

You can ask each question on the command line, in GraphQL and in Python (`fleet.ask(find(NAME), …)`, or a method of
`Fleet`). To ask it in a scenario with parts down or derated, use `--down` and `--derate`, `fleet.what_if(…)`, or
`whatIf` in GraphQL, where a question then costs twice as much. For questions about placement a scenario may also have
jobs: `--with JOB=PLACE` allocates a place to a job, `--without JOB` ends a job (`what_if(with_=…, without=…)`). Every
bandwidth is for one direction.
"""


def render_page(questions: Iterable[Question]) -> str:
    """Return the page as Markdown."""
    common = [f"- `{answer_field.name}`: {answer_field.description}" for answer_field in answer_fields(Answer)]
    lines = (line for question in questions for line in _render_question(question))
    return "\n".join([_HEADER, "Every answer also has:\n", *common, "", *lines])


def _render_question(question: Question) -> Iterator[str]:
    yield f"## {question.command}\n"
    yield f"{question.description}\n"
    field = f"`{question.field}`" if question.field else f"the mutation `{question.job_mutation}`, as a job"
    yield (
        f"Command `trninv {question.command}`; in GraphQL {field}; in Python `{question.name}`. Cost: "
        f"{question.cost:,}.\n"
    )
    yield "| parameter | default | meaning |"
    yield "| --- | --- | --- |"
    yield from map(_render_parameter, question.parameters)
    common = {answer_field.name for answer_field in answer_fields(Answer)}
    yield "\nThe answer:\n"
    yield from (
        f"- `{answer_field.name}`: {answer_field.description}"
        for answer_field in answer_fields(question.answer_type)
        if answer_field.name not in common
    )
    yield ""
    yield from (f"    trninv {example}" for example in question.examples)
    yield ""


def _render_parameter(parameter: QuestionParameter) -> str:
    default = (
        "required"
        if parameter.is_required
        else ""
        if parameter.default in (None, ())
        else f"`{str(parameter.default).lower()}`"
    )
    choices = "".join(f" `{choice.name.lower()}`: {choice.description}" for choice in parameter.choices)
    return f"| `{parameter.name}` | {default} | {parameter.description}{choices} |"
