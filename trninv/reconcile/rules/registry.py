"""Register drift rules by what they apply to."""

from collections.abc import Callable, Iterator
from typing import Final, Generic, NamedTuple, TypeAlias, TypeVar

from trninv.database.finding_rules import FINDING_RULES
from trninv.reconcile.drift_input import CounterIncrease, DriftInput
from trninv.reconcile.occupied_slots import OccupiedSlot, SlotModel


class FindingDraft(NamedTuple):
    """Where what was seen differs from the design.

    Attributes
    ----------
    address, instance
        Where, and of which machine; None where there is none.
    expected, observed
        For people; they stay the same while the difference does.
    evidence
        Ids of the observations that show it.
    failed_parts, state
        What does not work, by address, and the state that says so.

    """

    address: str | None
    instance: str | None
    expected: str | None
    observed: str
    evidence: tuple[int, ...]
    failed_parts: tuple[str, ...] = ()
    state: str = "down"


class ComparedChip(NamedTuple):
    """A chip as a source shows it, on a machine of a type that may not be known.

    Attributes
    ----------
    ordinal
        Less than the model has chips.
    is_partial
        Whether there may be more chips, as in a container.

    """

    ordinal: int
    bdf: str | None
    memory_bytes: int | None
    cores: int | None
    numa_node: int | None
    neighbours: str | None
    efa_bdf: str | None
    is_partial: bool
    type: str


FindingDrafts: TypeAlias = Iterator[FindingDraft]
ChipRule: TypeAlias = Callable[[ComparedChip, SlotModel], tuple[str, str] | None]
"""Of a chip that was seen, in a slot of a model: what was expected and found."""
ServerRule: TypeAlias = Callable[[OccupiedSlot, DriftInput], FindingDrafts]
DomainRule: TypeAlias = Callable[[list[OccupiedSlot], DriftInput], FindingDrafts]
FleetRule: TypeAlias = Callable[[DriftInput, list[CounterIncrease]], FindingDrafts]

_Rule = TypeVar("_Rule", ChipRule, ServerRule, DomainRule, FleetRule)
COMPARISONS: Final[dict[str, str]] = {}
"""What each rule compares."""


class RuleRegistry(Generic[_Rule]):
    """Rules that are asked of one kind of thing."""

    def __init__(self) -> None:
        self.rules: dict[str, _Rule] = {}

    def __call__(self, rule: str, comparison: str) -> Callable[[_Rule], _Rule]:
        """Declare a rule."""
        assert rule in FINDING_RULES, rule
        assert rule not in COMPARISONS, rule

        def declare(check: _Rule) -> _Rule:
            self.rules[rule], COMPARISONS[rule] = check, comparison
            return check

        return declare


CHIP_RULES: Final = RuleRegistry[ChipRule]()
SERVER_RULES: Final = RuleRegistry[ServerRule]()
DOMAIN_RULES: Final = RuleRegistry[DomainRule]()
FLEET_RULES: Final = RuleRegistry[FleetRule]()
