"""Register drift rules by what they apply to."""

from collections.abc import Callable, Iterator
from typing import Final, Generic, NamedTuple, TypeAlias, TypeVar

from trninv.database.finding_rules import FINDING_RULES
from trninv.reconcile.drift_input import CounterIncrease, DriftInput
from trninv.reconcile.occupied_slots import OccupiedSlot, SlotModel


class FindingDraft(NamedTuple):
    """A difference between observation and design, not yet recorded.

    Attributes
    ----------
    address, instance
        Where, and of which machine; None if there is none.
    expected, observed
        Texts for people that are stable while the difference lasts.
    evidence
        Ids of the observations that show it.
    failed_parts, state
        Addresses of failed parts, and the state that they should get.

    """

    address: str | None
    instance: str | None
    expected: str | None
    observed: str
    evidence: tuple[int, ...]
    failed_parts: tuple[str, ...] = ()
    state: str = "down"


class ComparedChip(NamedTuple):
    """A chip as a source reports it, on a machine whose type may be unknown.

    Attributes
    ----------
    ordinal
        Its number, less than the model's number of chips.
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
"""Compares an observed chip with the slot's model; returns the expected and the observed text."""
ServerRule: TypeAlias = Callable[[OccupiedSlot, DriftInput], FindingDrafts]
DomainRule: TypeAlias = Callable[[list[OccupiedSlot], DriftInput], FindingDrafts]
FleetRule: TypeAlias = Callable[[DriftInput, list[CounterIncrease]], FindingDrafts]

_Rule = TypeVar("_Rule", ChipRule, ServerRule, DomainRule, FleetRule)
COMPARISONS: Final[dict[str, str]] = {}
"""What each rule compares."""


class RuleRegistry(Generic[_Rule]):
    """The rules for one kind of subject."""

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
