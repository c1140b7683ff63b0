"""Register drift rules by what they apply to: a chip, a server, a domain or the whole fleet.

A rule is a function that compares what sources report of a machine with what the design expects of its slot (a server's
place in the design), and returns the draft of a finding for each difference. The other modules of this folder declare
the rules; `drift` applies them.
"""

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
        Address of the place and name of the machine that it is about, or None.
    expected, observed
        Texts for people. They must not change while the difference lasts, because they are part of a finding's key.
    evidence
        Ids of the observations that it comes from.
    state
        The state that failed parts should get; `failed_parts` says which have failed.

    """

    address: str | None
    instance: str | None
    expected: str | None
    observed: str
    evidence: tuple[int, ...]
    state: str = "down"


class ComparedChip(NamedTuple):
    """A chip as a source reports it, on a machine whose type may be unknown.

    Attributes
    ----------
    ordinal
        Its number in its server, less than the model's number of chips.
    bdf, efa_bdf
        PCI addresses (bus:device.function) of the chip and of its EFA device.
    neighbours
        Ordinals of the chips that it is linked to, ascending, separated by blanks.
    is_partial
        Whether the machine may have more chips than the source lists, as in a container.
    type
        EC2 type of the machine; empty if unknown, or if sources disagree on it.

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
"""Compares an observed chip with the slot's model; returns the expected and the observed text of a difference."""
ServerRule: TypeAlias = Callable[[OccupiedSlot, DriftInput], FindingDrafts]
DomainRule: TypeAlias = Callable[[list[OccupiedSlot], DriftInput], FindingDrafts]
FleetRule: TypeAlias = Callable[[DriftInput, list[CounterIncrease]], FindingDrafts]

_Rule = TypeVar("_Rule", ChipRule, ServerRule, DomainRule, FleetRule)


class RuleRegistry(Generic[_Rule]):
    """Drift rules by name: those for chips, servers, domains or the fleet; also the decorator of their functions."""

    def __init__(self) -> None:
        self.rules: dict[str, _Rule] = {}

    def __call__(self, rule: str) -> Callable[[_Rule], _Rule]:
        """Return a decorator that registers a function under a rule's name."""
        assert rule in FINDING_RULES, rule
        assert rule not in self.rules, rule

        def register(check: _Rule) -> _Rule:
            self.rules[rule] = check
            return check

        return register


CHIP_RULES: Final = RuleRegistry[ChipRule]()
SERVER_RULES: Final = RuleRegistry[ServerRule]()
DOMAIN_RULES: Final = RuleRegistry[DomainRule]()
FLEET_RULES: Final = RuleRegistry[FleetRule]()
