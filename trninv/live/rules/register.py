"""Rules by name: each is declared once, beside what it compares and what it is asked of."""

from collections.abc import Callable, Iterator
from typing import Any, Final, Generic, NamedTuple, TypeAlias, TypeVar

from sqlalchemy import Row

from trninv.inventory.rules import RULES
from trninv.live.design import Slot
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


Differences: TypeAlias = Iterator[Difference]
OfChip: TypeAlias = Callable[[Row[Any], Slot], tuple[str, str] | None]
"""Of a chip that was seen, within its server: what was expected and found."""
OfServer: TypeAlias = Callable[[Slot, Picture], Differences]
OfDomain: TypeAlias = Callable[[list[Slot], Picture], Differences]
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
