"""Rules by name: each is declared once, beside what it compares and what it is asked of."""

from collections.abc import Callable, Iterator
from typing import Final, Generic, NamedTuple, TypeAlias, TypeVar

from trninv.inventory.rules import RULES
from trninv.live.design import Model, Occupancy
from trninv.live.picture import Grown, Picture


class Difference(NamedTuple):
    """Where what was seen differs from the design.

    Attributes
    ----------
    address, instance
        Where, and of which machine; None where there is none.
    expected, found
        For people; they stay the same while the difference does.
    evidence
        Ids of the observations that show it.
    broken, state
        What does not work, by address, and the state that says so.

    """

    address: str | None
    instance: str | None
    expected: str | None
    found: str
    evidence: tuple[int, ...]
    broken: tuple[str, ...] = ()
    state: str = "down"


class Shown(NamedTuple):
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


Differences: TypeAlias = Iterator[Difference]
OfChip: TypeAlias = Callable[[Shown, Model], tuple[str, str] | None]
"""Of a chip that was seen, in a slot of a model: what was expected and found."""
OfServer: TypeAlias = Callable[[Occupancy, Picture], Differences]
OfDomain: TypeAlias = Callable[[list[Occupancy], Picture], Differences]
OfFleet: TypeAlias = Callable[[Picture, list[Grown]], Differences]

_F = TypeVar("_F", OfChip, OfServer, OfDomain, OfFleet)
COMPARES: Final[dict[str, str]] = {}
"""What each rule compares."""


class Register(Generic[_F]):
    """Rules that are asked of one kind of thing."""

    def __init__(self) -> None:
        self.rules: dict[str, _F] = {}

    def __call__(self, rule: str, compares: str) -> Callable[[_F], _F]:
        """Declare a rule."""
        assert rule in RULES, rule
        assert rule not in COMPARES, rule

        def declare(asked: _F) -> _F:
            self.rules[rule], COMPARES[rule] = asked, compares
            return asked

        return declare


CHIP: Final = Register[OfChip]()
SERVER: Final = Register[OfServer]()
DOMAIN: Final = Register[OfDomain]()
FLEET: Final = Register[OfFleet]()
