"""Declare questions as annotated functions and render their reference page.

The routing questions are in trninv/routing/questions, those about placement in trninv/placement/questions. A question
is a function: its signature declares the parameters and its docstring is the description that users see.

    @question(cost=ROUTED_COST, examples=("distances u-trn2x64",))
    def distances(snapshot: Snapshot, scope: Annotated[str, Argument("Chip, … or cluster.")]) -> DistanceAnswer:
        '''Measure the hops between the chips of a scope.'''

Parameters have one of the PARAMETER_TYPES of `trninv.inventory.parameter`. The command, the GraphQL field, the cost of
a document and the reference page (docs/reference/questions.md) are generated from the declaration.
"""

import inspect
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, TypeVar

from trninv.inventory.address.machine_names import split_link
from trninv.inventory.parameter import (
    Choices,
    Declaration,
    Parameter,
    camel_case,
    render_choices,
    render_names,
    render_parameters,
    shared_choices,
)
from trninv.routing.answer import Answer, answer_fields

A = TypeVar("A", bound=Answer)
ROUTED_COST: Final = 4_000
"""Cost of a routing question: milliseconds to seconds of CPU time; an object of a GraphQL answer costs 1."""
SCAN_COST: Final = 100
"""Cost of a count, a sum, a list that is read as a whole, or a change."""


@dataclass(frozen=True)
class Question(Declaration):
    """A question that a fleet answers.

    Attributes
    ----------
    function
        Takes a `trninv.routing.snapshot.Snapshot` and the parameters.
    cost
        Its cost in a GraphQL document.
    command
        Its name on the command line; with an option, as in ``place --nearest``, if another question has the command
        without that option.
    field
        Its field of GraphQL's Query type; empty if it has none.
    examples
        Command lines that ask it, without the leading ``trninv``.
    answer_from_cache
        Takes a `trninv.routing.path_cache.PathCache` and the parameters; returns the answer, or None if it is not
        cached.
    has_baseline
        Whether an answer in a scenario has the answer without the scenario as its baseline.
    job_mutation
        The GraphQL mutation that asks it in a background job, if it takes too long for a request.
    reads_clock
        Whether its answer depends on the time at which it is asked, so that an answer can't serve a later request.

    """

    function: Callable[..., Answer]
    cost: int
    command: str
    field: str
    examples: Sequence[str]
    answer_from_cache: Callable[..., Answer | None] | None = None
    has_baseline: bool = True
    job_mutation: str = ""
    reads_clock: bool = False

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """Parameters of the question, without the function's keyword-only ones, which exist in Python alone."""
        positional = (
            parameter
            for parameter in self.signature.parameters.values()
            if parameter.kind is not inspect.Parameter.KEYWORD_ONLY
        )
        return tuple(map(Parameter.from_signature, positional))

    @cached_property
    def _by_name(self) -> dict[str, Parameter]:
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

    def addresses(self, values: Mapping[str, Any]) -> Iterator[str]:  # Any: a value of any parameter type
        """Yield the addresses in converted values that an answer depends on; for a link, those of its two ends."""
        for parameter in self.parameters:
            for address in parameter.addresses(values[parameter.name]):
                yield from split_link(address)


def question(
    *,
    cost: int,
    command: str = "",
    field: str | None = None,
    examples: Sequence[str],
    answer_from_cache: Callable[..., Answer | None] | None = None,
    has_baseline: bool = True,
    job_mutation: str = "",
    reads_clock: bool = False,
) -> Callable[[Callable[..., A]], Question]:
    """Declare a question; see `Question`. By default `command` and `field` derive from the function's name."""

    def declare(function: Callable[..., A]) -> Question:
        command_name = command or function.__name__.replace("_", "-")
        field_name = camel_case(function.__name__) if field is None else field
        return Question(
            function,
            cost,
            command_name,
            field_name,
            examples,
            answer_from_cache,
            has_baseline,
            job_mutation,
            reads_clock,
        )

    return declare


_HEADER = """# Questions

Generated from the declarations in trninv/routing/questions and trninv/placement/questions by `python -m
trninv.placement.questions`; do not edit this page.

You can ask each question on the command line (the title of its section), in GraphQL (the same name in camel case) and
in Python (in snake case: `fleet.ask(find(NAME), …)`, or a method of `Fleet`). A question costs {cost:,}. Sections say
what differs. To ask in a scenario, with parts down or degraded, use `--down` and `--derate`, `fleet.what_if(…)`, or
`whatIf` in GraphQL, where a question then costs twice as much. For questions about placement, a scenario may also have
jobs: `--with JOB=PLACE` allocates a place to a job, `--without JOB` ends a job (`what_if(with_=…, without=…)`). Every
bandwidth is for one direction. The [glossary](../explanation/glossary.md) explains the terms.
"""
_FREQUENT: Final = 5
"""Number of answers from which on a field that they share is described once."""


def render_page(questions: Sequence[Question]) -> str:
    """Return the reference page of some questions as Markdown."""
    shared = shared_choices(parameter for question in questions for parameter in question.parameters)
    counts = Counter(field for question in questions for field in _own_fields(question))
    frequent = [field for field, count in counts.items() if count >= _FREQUENT]
    return "\n".join(
        [
            _HEADER.format(cost=ROUTED_COST),
            "Several parameters take these values:\n",
            *render_choices(shared),
            "\nEvery answer has:\n",
            *(_render_field(field.name, field.description) for field in answer_fields(Answer)),
            "\nMany answers also have:\n",
            *(_render_field(*field) for field in frequent),
            "",
            *(line for question in questions for line in _render_question(question, shared, frequent)),
        ]
    )


def _own_fields(question: Question) -> list[tuple[str, str]]:
    """Return the name and description of each field that not every answer has."""
    common = {field.name for field in answer_fields(Answer)}
    fields = answer_fields(question.answer_type)
    return [(field.name, field.description) for field in fields if field.name not in common]


def _render_field(name: str, description: str) -> str:
    return f"- `{name}`: {description}"


def _render_question(
    question: Question, shared: Mapping[Choices, str], frequent: Sequence[tuple[str, str]]
) -> Iterator[str]:
    yield f"## {question.command}\n"
    yield f"{question.description}\n"
    field = f"in GraphQL `{question.field}`" if question.field else _job_mutation(question)
    names = render_names(question, question.command, question.field, field)
    cost = f"cost: {question.cost:,}" if question.cost != ROUTED_COST else ""
    if text := "; ".join(filter(None, (names, cost))):
        yield f"{text[0].upper()}{text[1:]}.\n"
    yield from render_parameters(question.parameters, shared)
    fields = _own_fields(question)
    above = [f"`{name}`" for name, description in fields if (name, description) in frequent]
    has_above = f" has {', '.join(above)} and" if above else ""
    yield f"\nThe answer{has_above}:\n"
    yield from (_render_field(*field) for field in fields if field not in frequent)
    yield ""
    yield from (f"    trninv {example}" for example in question.examples)
    yield ""


def _job_mutation(question: Question) -> str:
    return f"in GraphQL the mutation `{question.job_mutation}`, as a job"
