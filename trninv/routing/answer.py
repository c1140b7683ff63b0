"""Define what every answer contains and the values that several answers share.

Answers are frozen values; the command line, GraphQL and notebooks only render them. Users see the texts of this module:
`trninv.graphql.answer_types` builds the GraphQL types from these classes, with the texts as descriptions. A field's
description is part of its annotation (``Annotated[Bandwidth, "…"]``); a property's and a class's description is its
docstring.

Every bandwidth is for one direction unless its description says otherwise. If an answer has the bounds ``lower`` and
``upper``, the exact value is not below the first and not above the second.
"""

import dataclasses
import inspect
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from functools import cache
from itertools import pairwise, takewhile
from typing import Annotated, Any, Self, get_args, get_origin

from trninv.enumeration import DescribedEnum
from trninv.rendered_text import Detail, Rendered
from trninv.routing.answer_display import AnswerDisplay
from trninv.routing.link_selection import LinkSelection
from trninv.units import Bandwidth, Duration, pluralize


class SchemaScalar(Enum):
    """Marks in a field's annotation, for what the Python type does not tell the GraphQL schema."""

    ADDRESS = auto()
    """The schema's type for addresses instead of a string."""
    EXACT = auto()
    """The schema's type for integers that may need more than 31 bits, which are sent as text."""
    PAGED = auto()
    """A GraphQL connection, for a tuple of unbounded length."""
    HIDDEN = auto()
    """Not in the schema, such as a row id: seeding a cluster again changes its ids, but not its addresses."""


AddressText = Annotated[str, SchemaScalar.ADDRESS]
ExactInt = Annotated[int, SchemaScalar.EXACT]
HiddenInt = Annotated[int, SchemaScalar.HIDDEN]


class WiringSource(DescribedEnum):
    """Source of an answer's wiring."""

    DESIGN = "DESIGN", "The design."
    OBSERVED = (
        "OBSERVED",
        "The design, but with neighbors as the drivers list them; nothing is measured.",
    )

    @classmethod
    def from_observed(cls, *, is_observed: bool) -> "WiringSource":
        """Return OBSERVED if ``is_observed``, which is whether any of the answer's wiring was observed; else DESIGN."""
        return cls.OBSERVED if is_observed else cls.DESIGN


class PathShape(DescribedEnum):
    """Which paths to list."""

    BEST = "BEST", "The k best paths."
    ALL = (
        "ALL",
        "The k best paths, and all links of the best ones, each with the share of these paths.",
    )
    LINK_DISJOINT = "LINK_DISJOINT", "Up to k paths that share no link; for k = 1, as many as there are."
    NODE_DISJOINT = (
        "NODE_DISJOINT",
        "Up to k paths that share no node except their ends; for k = 1, as many as there are.",
    )


class Balance(DescribedEnum):
    """Which chips a bisection halves."""

    LIVE = "LIVE", "The healthy chips."
    NOMINAL = "NOMINAL", "All chips; failed ones fill up either side."


@dataclass(frozen=True, slots=True)
class CitedFact:
    """A fact that an answer depends on: the value used, with its source and quote.

    Attributes
    ----------
    disputed
        Another source contradicts it, or the source's number is not taken literally; ``note`` explains.
    assumed
        No document states it.

    """

    id: HiddenInt
    subject: str
    attribute: str
    value: str
    as_written: str
    quote: str
    source: str
    reading_reason: str | None
    note: str | None
    disputed: bool
    assumed: bool


@dataclass(frozen=True, slots=True)
class AnswerDifference:
    """The effect of a scenario on an answer: scenario minus baseline, null where that means nothing."""

    hops: Annotated[int | None, "Hops of the best path."] = None
    bytes_per_second: Annotated[
        ExactInt | None, "Bandwidth of the path, flow or bisection (its upper bound); one direction."
    ] = None
    chips: Annotated[int | None, "Chips of a memory pool."] = None
    bytes: Annotated[ExactInt | None, "Memory of a memory pool."] = None
    incomparable: Annotated[str | None, "Why the bisections cannot be compared; null if they can."] = None

    @property
    def gigabytes_per_second(self) -> float | None:
        """10⁹ bytes per second, one direction."""
        return None if self.bytes_per_second is None else self.bytes_per_second / 10**9

    def __str__(self) -> str:
        parts = [
            "" if self.hops is None else f"{self.hops:+d} hops",
            "" if self.bytes_per_second is None else f"{self.bytes_per_second / 10**9:+,g} GB/s",
            "" if self.chips is None else f"{self.chips:+d} chips",
            "" if self.bytes is None else f"{self.bytes / 2**30:+,g} GiB",
            self.incomparable and f"bisections not comparable: {self.incomparable}",
        ]
        return ", ".join(filter(None, parts))


def incomparability_reason(before: int, current: int) -> str | None:
    """Return why the bisections of ``before`` and ``current`` chips can't be compared, or None if the two are equal."""
    return None if before == current else f"{current:,} chips are halved instead of {before:,}"


@dataclass(frozen=True, kw_only=True)
class Answer(AnswerDisplay, ABC):
    """What every answer contains."""

    definition: Annotated[str, "Definition of the quantity, with its direction."]
    via: Annotated[LinkSelection, "Links used."] = LinkSelection.SCALE_UP
    truncated: Annotated[bool, "Whether a limit cut anything off."] = False
    facts: Annotated[tuple[CitedFact, ...], "Facts that it depends on."]
    wiring_source: Annotated[WiringSource, "Source of the wiring."] = WiringSource.DESIGN
    baseline: Annotated[Self | None, "The same answer without the scenario; null without one."] = None

    @property
    def disputed(self) -> bool:
        """Whether a fact that it depends on is disputed."""
        return any(fact.disputed for fact in self.facts)

    @property
    def assumed(self) -> bool:
        """Whether a fact that it depends on is assumed."""
        return any(fact.assumed for fact in self.facts)

    @property
    def difference(self) -> AnswerDifference | None:
        """Effect of the scenario; null without one."""
        return None if self.baseline is None else self.difference_from(self.baseline)

    def difference_from(self, other: Self) -> AnswerDifference:  # noqa: ARG002 # subclasses use it
        """Return this answer less another of the same class; empty unless a class overrides it."""
        return AnswerDifference()

    def is_satisfied(self) -> bool:
        """Return whether the answer is positive, for example that a path exists; if not, the command exits with 1."""
        return True

    @abstractmethod
    def render(self) -> Rendered:
        """Yield the answer as lines and tables of text, the answer first."""

    def value_lines(self) -> Sequence[object]:
        """Return what `-q` prints, a value with its unit or an address per line; empty if there is no such value."""
        return ()

    def render_comparison(self) -> Rendered:
        """Yield the comparison with the baseline; nothing without a scenario."""
        if self.difference is not None and (difference_text := str(self.difference)):
            yield f"compared with the baseline: {difference_text}"


@dataclass(frozen=True, slots=True)
class LinkRef:
    """A link by its row's id and its ends, with what one direction carries."""

    id: HiddenInt
    a: str
    b: str
    bandwidth: Bandwidth

    @property
    def address(self) -> str:
        """A--B."""
        return f"{self.a}--{self.b}"


class StepKind(DescribedEnum):
    """Kind of a path's step."""

    CHIP = "chip", "A chip."
    SWITCH = "switch", "A switch."
    NIC = "nic", "An EFA device."
    NETWORK_NODE = "network_node", "A network node of the EFA fabric."
    LINK = "link", "The link to the next node."


@dataclass(frozen=True, slots=True)
class PathStep:
    """A node of a path, or the link to the next one."""

    kind: Annotated[StepKind, "Its kind."]
    address: Annotated[AddressText, "Its address."]
    bandwidth: Annotated[Bandwidth | None, "Bandwidth of a link, one direction."] = None
    link_id: Annotated[int | None, SchemaScalar.HIDDEN] = None


@dataclass(frozen=True, slots=True)
class Path:
    """A path from one place to another."""

    hops: Annotated[int, "Number of links: chip, switch, chip is two."]
    bandwidth: Annotated[Bandwidth | None, "Bandwidth of the narrowest link, one direction; null without links."]
    steps: Annotated[tuple[PathStep, ...], "Node, link, node, … in order."]
    bottlenecks: Annotated[tuple[LinkRef, ...], "The narrowest links."]
    time: Annotated[Duration | None, "Time of a message of the chosen size; null unless ranked by time."] = None

    @classmethod
    def from_nodes(
        cls, nodes: Sequence[tuple[str, str]], links: Sequence[LinkRef], time: Duration | None = None
    ) -> "Path":
        """Return the path over ``nodes``, which are pairs of a kind and an address, and over the links between them."""
        narrowest = min((link.bandwidth for link in links), default=None)
        kind, address = nodes[0]
        steps = [PathStep(StepKind(kind), address)]
        for link, (kind, address) in zip(links, nodes[1:], strict=True):
            steps.append(PathStep(StepKind.LINK, link.address, link.bandwidth, link.id))
            steps.append(PathStep(StepKind(kind), address))
        bottlenecks = tuple(link for link in links if link.bandwidth == narrowest)
        return cls(len(links), narrowest, tuple(steps), bottlenecks, time)

    def route(self) -> str:
        """Return the addresses of the nodes in order, each without the places that it shares with the one before."""
        nodes = [step.address.split("/") for step in self.steps if step.kind is not StepKind.LINK]
        route = ["/".join(nodes[0])]
        for before, node in pairwise(nodes):
            shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(before, node[:-1], strict=False)))
            route.append("/".join(node[shared:]))
        return " > ".join(route)

    def __str__(self) -> str:
        if not self.hops:
            return "0 hops: the same chip"
        time_text = "" if self.time is None else f", {self.time} for the message alone"
        return f"{pluralize(self.hops, 'hop')}, {self.bandwidth} one direction{time_text}"


@dataclass(frozen=True, slots=True)
class Bounds:
    """Proven bounds, one direction."""

    lower: Annotated[Bandwidth, "Proven lower bound."]
    upper: Annotated[Bandwidth, "Proven upper bound."]

    @property
    def exact(self) -> bool:
        """Whether the bounds are equal."""
        return self.lower == self.upper

    def __str__(self) -> str:
        return bandwidth_range([self.lower, self.upper])


def bandwidth_range(values: Iterable[Bandwidth]) -> str:
    """Format the minimum and maximum of some bandwidths; a single value if they are equal."""
    bandwidths = list(values)
    minimum, maximum = min(bandwidths), max(bandwidths)
    return str(minimum) if minimum == maximum else f"{minimum} to {maximum}"


def total_count(answer: object, name: str) -> int:
    """Return a paged field's number of items: ``{name}_size`` if the field lists only the first of them."""
    count: int = getattr(answer, f"{name}_size", len(getattr(answer, name)))
    return count


_MAX_LISTED_LINKS = 40
"""Most links of a cut that the text output lists."""


def render_cut(name: str, links: Sequence[LinkRef], size: int) -> Rendered:
    """Yield a cut of ``size`` links as text; ``links`` has all of them or only the first ones."""
    yield f"{name}: {pluralize(size, 'link')}"
    for link in links[:_MAX_LISTED_LINKS]:
        yield Detail(f"  {link.address}  {link.bandwidth}")
    if size > _MAX_LISTED_LINKS:
        listed_part = "all" if size == len(links) else f"the first {len(links):,}"
        yield Detail(f"  … {size - _MAX_LISTED_LINKS:,} more (--format json lists {listed_part})")


@dataclasses.dataclass(frozen=True, slots=True)
class AnswerField:
    """A field or property of an answer, with its type, its marks for the GraphQL schema and its description."""

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
    """Describe a field by its annotated type; ``default`` is its description if the annotation has none."""
    value_type, annotations = strip_annotations(type_hint)
    description = next((annotation for annotation in annotations if isinstance(annotation, str)), default)
    scalars = frozenset(annotation for annotation in annotations if isinstance(annotation, SchemaScalar))
    return AnswerField(name, value_type, scalars, description)


def strip_annotations(type_hint: Any) -> tuple[Any, tuple[Any, ...]]:  # Any: a type
    """Split an annotated type into the type and its annotations."""
    if get_origin(type_hint) is not Annotated:
        return type_hint, ()
    value_type, *annotations = get_args(type_hint)
    return value_type, tuple(annotations)
