"""What the parts of a kind did between two times, from how many changed from what to what, and when: one definition.

A database and an archive count changes in SQL of their own; what the counts mean is said here alone. No database is
needed, so that an environment of Spark is enough.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum, auto

_UP, _DOWN = "up", "down"


class TransitionPeriod(Enum):
    """When parts came into a state, seen from the two times."""

    INITIAL = auto()
    """They stood in it where the count begins: all parts, at one end of what is known."""
    OUTSIDE = auto()
    """Between that end and the nearer of the two times."""
    INSIDE = auto()
    """Between the two times."""


@dataclass(frozen=True, slots=True)
class Transition:
    """A number of parts that came from one state into another.

    Attributes
    ----------
    micros
        Microseconds, of all of them together, that are taken from the state before and given to that after.
    own_before, own_state
        The states of the parts themselves, whatever their server left them.

    """

    period: TransitionPeriod
    number: int
    micros: int
    before: str
    state: str
    own_before: str
    own_state: str


@dataclass(frozen=True, slots=True)
class AvailabilitySums:
    """What the parts of a kind did between two times.

    Attributes
    ----------
    name
        What its group has in common: a model, a rack's address, a cluster; None where nothing is known of it, or asked.
    observed
        Microseconds that all parts together were seen.
    spent
        Those microseconds by each state; a node's state is that which its server leaves it.
    repairing
        Microseconds in which parts were down themselves, not only with their server.
    failures, repaired
        How often a part itself went down, and was down no more.
    down_before, down_after
        Parts that were down themselves at the beginning and at the end.

    """

    kind: str
    name: str | None
    parts: int
    observed: int
    time_in_state: dict[str, int]
    repairing: int
    failures: int
    repaired: int
    down_before: int
    down_after: int

    def share(self, state: str) -> float:
        """Of the time of all parts."""
        return self.time_in_state[state] / self.observed

    @property
    def carried(self) -> int:
        """Microseconds up or degraded: those that MTBF counts."""
        return self.time_in_state[_UP] + self.time_in_state["degraded"]

    @classmethod
    def from_transitions(
        cls,
        kind: str,
        name: str | None,
        parts: int,
        observed: int,
        transitions: Iterable[Transition],
        *,
        backwards: bool = False,
    ) -> "AvailabilitySums":
        """Of parts that would have been up all the time, so many microseconds in all, but for what moved.

        Backwards: the edge is the end of what is known, and changes beyond it are undone to come to the second time.
        """
        spent = {_UP: observed, "degraded": 0, _DOWN: 0, "maintenance": 0}
        edge = repairing = failures = repaired = 0
        for transition in transitions:
            spent[transition.before] -= transition.micros
            spent[transition.state] += transition.micros
            failed = (transition.own_state == _DOWN) - (transition.own_before == _DOWN)
            repairing += failed * transition.micros
            if transition.period is TransitionPeriod.INSIDE:
                failures += transition.number if failed > 0 else 0
                repaired += transition.number if failed < 0 else 0
            else:
                edge += (
                    failed
                    * transition.number
                    * (-1 if backwards and transition.period is TransitionPeriod.OUTSIDE else 1)
                )
        net = failures - repaired
        ends = (edge - net, edge) if backwards else (edge, edge + net)
        return cls(kind, name, parts, observed, spent, repairing, failures, repaired, *ends)
