"""Sum state transitions into availability figures.

The database and the archive each count transitions in their own SQL; both use this module, so availability has one
definition. It imports no database code, so it also runs in an environment that only has Spark.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum, auto

_UP, _DOWN = "up", "down"


class TransitionPeriod(Enum):
    """When a transition happened, relative to the two times."""

    INITIAL = auto()
    """The initial state of a part, at the end of the known history where counting starts."""
    OUTSIDE = auto()
    """Between that end and the nearer of the two times; it only changes the initial state."""
    INSIDE = auto()
    """Between the two times."""


@dataclass(frozen=True, slots=True)
class Transition:
    """A number of equal transitions from one state to another.

    Attributes
    ----------
    micros
        Microseconds, summed over all of them, to subtract from the state before and add to the state after.
    own_before, own_state
        The own states of the parts, without the effect of their server.

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
    """Times and counts of a group of parts between two times.

    Attributes
    ----------
    name
        The group: a model, a rack's address or a cluster; None if parts are not grouped or the group has no name.
    observed
        Microseconds observed, summed over all parts.
    time_in_state
        Those microseconds by state; a node's state includes the effect of its server.
    repairing
        Microseconds in which parts were down themselves, not only because of their server.
    failures, repaired
        How often a part itself went down, and came back.
    down_before, down_after
        Parts that were down themselves at the start and at the end.

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
        """Return the fraction of the observed time spent in a state."""
        return self.time_in_state[state] / self.observed

    @property
    def carried(self) -> int:
        """Microseconds up or degraded, the uptime in MTBF."""
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
        """Sum up transitions, starting from parts that are up for all of the observed time.

        With ``backwards``, initial states are those at the end of the history, and transitions after the second time
        are undone.
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
