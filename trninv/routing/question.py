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

from trninv.choice import Choice
from trninv.errors import LimitError
from trninv.inventory.named import ends
from trninv.routing.answer import Answer
from trninv.routing.scenario import listed
from trninv.units import Bandwidth, Capacity, Quantity

A = TypeVar("A", bound=Answer)

ROUTED: Final = 4_000
"""Price of what routes: milliseconds to seconds of a processor; an object of a GraphQL answer costs 1."""
SCAN: Final = 100
"""Price of a count or a sum, of a list that is found whole, and of a change."""


class Text(str):
    """Words that are no address, such as a shape."""

    __slots__ = ()


FORMS: Final = (str, tuple, Choice, bool, int, Capacity, Bandwidth)
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

    says: str
    least: int = 0
    most: int | None = None
    name: str = ""
    option: str | None = None
    metavar: str = ""
    positional: bool = False


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a question: `form` is one of `FORMS`."""

    name: str
    form: type
    argument: Argument
    default: Any
    optional: bool

    @classmethod
    def of(cls, parameter: inspect.Parameter) -> "Parameter":
        """As a function declares it."""
        form, argument = get_args(parameter.annotation)
        optional = get_origin(form) in (Union, UnionType)
        if optional:
            form = next(each for each in get_args(form) if each is not type(None))
        return cls(parameter.name, get_origin(form) or form, argument, parameter.default, optional)

    @property
    def required(self) -> bool:
        """Whether it has no default."""
        return self.default is inspect.Parameter.empty

    @property
    def says(self) -> str:
        """What it means, with its limits."""
        low, high = self.argument.least, self.argument.most
        return self.argument.says if high is None else f"{self.argument.says.removesuffix('.')}: {low:,} to {high:,}."

    @property
    def words(self) -> tuple[Choice, ...]:
        """Its possible values, if it is an enumeration; otherwise empty."""
        return tuple(self.form) if issubclass(self.form, Choice) else ()

    def read(self, value: Any) -> Any:  # of any form
        """A value as a caller gives it, in the parameter's form.

        Raises
        ------
        LimitError, UnitError
            It can't be one.

        """
        if value is None and self.optional:
            return None
        if self.words:
            return self._word(str(value))
        if issubclass(self.form, tuple):
            return tuple(listed(value))
        if issubclass(self.form, Quantity):
            value = self.form.parse(value) if isinstance(value, str) else self.form(value)
        if issubclass(self.form, int) and self.form is not bool:
            self._check(value)
        return value

    def _word(self, value: str) -> Choice:
        words = {word.name: word for word in self.words}
        if (name := value.upper().replace("-", "_")) not in words:
            raise LimitError(f"{self.name} {value!r}: choose {' or '.join(words).lower()}")
        return words[name]

    def _check(self, value: int) -> None:
        low, high = self.argument.least, self.argument.most
        if value < low or (high is not None and value > high):
            limits = f"{low} or more" if high is None else f"{low:,} to {high:,}"
            unit = {Capacity: " bytes", Bandwidth: " bytes per second"}.get(self.form, "")
            raise LimitError(f"{self.name} {int(value):,}: ask for {limits}{unit}")


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
    price: int
    command: str
    field: str
    examples: Sequence[str]
    remembered: Callable[..., Answer | None] | None = None
    compares: bool = True
    job: str = ""

    @property
    def name(self) -> str:
        """Its name in Python."""
        return self.function.__name__

    @cached_property
    def says(self) -> str:
        """What it asks, in a sentence or two."""
        return inspect.getdoc(self.function) or ""

    @cached_property
    def signature(self) -> inspect.Signature:
        """Its parameters, the reader left out."""
        whole = inspect.signature(self.function)
        return whole.replace(parameters=list(whole.parameters.values())[1:])

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """What is asked; the keyword-only ones of the function are means, which only Python gives."""
        asked = (each for each in self.signature.parameters.values() if each.kind is not inspect.Parameter.KEYWORD_ONLY)
        return tuple(map(Parameter.of, asked))

    @cached_property
    def _named(self) -> dict[str, Parameter]:
        return {each.name: each for each in self.parameters}

    @cached_property
    def _defaults(self) -> dict[str, Any]:
        """What is not given, in the forms of the parameters."""
        empty, named = inspect.Parameter.empty, self._named
        defaults = {name: of.default for name, of in self.signature.parameters.items() if of.default is not empty}
        return {name: named[name].read(value) if name in named else value for name, value in defaults.items()}

    @property
    def answer(self) -> type[Answer]:
        """The class of its answers."""
        found: type[Answer] = self.signature.return_annotation
        return found

    def values(self, *arguments: Any, **named: Any) -> dict[str, Any]:  # of any form
        """What is asked, in the forms of the parameters.

        Raises
        ------
        LimitError, UnitError
            A value is beyond its limits.

        """
        given = self.signature.bind(*arguments, **named).arguments if arguments else named
        named_so = self._named
        read = {name: named_so[name].read(value) if name in named_so else value for name, value in given.items()}
        return self._defaults | read

    def addresses(self, values: Mapping[str, Any]) -> Iterator[str]:  # of any form
        """The places that these values, in the forms of the parameters, name: of a link, both ends."""
        for each in self.parameters:
            if each.form is str and (value := values[each.name]) is not None:
                yield from ends(value)


def question(
    *,
    price: int,
    command: str = "",
    field: str | None = None,
    examples: Sequence[str],
    remembered: Callable[..., Answer | None] | None = None,
    compares: bool = True,
    job: str = "",
) -> Callable[[Callable[..., A]], Question]:
    """Declare a question; see `Question`. `command` and `field` follow from the function's name unless given."""

    def declare(function: Callable[..., A]) -> Question:
        first, *rest = function.__name__.split("_")
        camel = first + "".join(map(str.capitalize, rest))
        named = command or function.__name__.replace("_", "-")
        shown = camel if field is None else field
        return Question(function, price, named, shown, examples, remembered, compares, job)

    return declare
