"""Sum state transitions into availability figures.

The database and the archive each count transitions in their own SQL; both use this module, so availability has one
definition. It imports no database code, so it also runs in an environment that only has Spark.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum, auto
from typing import NamedTuple

_UP, _DOWN = "up", "down"


class TransitionPeriod(Enum):
    """When a transition happened, relative to the period for which availability is computed.

    Transitions are counted forwards from the beginning of the history, or backwards from its end.
    """

    INITIAL = auto()
    """Not a change of state, but the step from "up" to the state that a part has where counting starts."""
    OUTSIDE = auto()
    """Between the start of counting and the period, so that it changes the state in which a part enters the period."""
    INSIDE = auto()
    """Within the period."""


class Transition(NamedTuple):
    """A number of equal transitions from one state to another.

    Attributes
    ----------
    micros
        Microseconds, summed over all transitions, to subtract from the time in state `before` and add to the time in
        `state`.
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
    """Times and counts of a group of parts in the period.

    Attributes
    ----------
    name
        The group: a model, a rack's address or a cluster; None if parts are not grouped or the group has no name.
    observed
        Microseconds observed, summed over all parts.
    time_in_state
        The observed microseconds by effective state, which for a chip or NIC includes the effect of its server's state.
    repairing
        Microseconds for which parts were down themselves, not only because of their server.
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
        """Sum up transitions, starting with all parts "up" for all of the observed time.

        With `backwards`, initial states are those at the end of the history, and transitions after the period are
        undone.
        """
        time_in_state = {_UP: observed, "degraded": 0, _DOWN: 0, "maintenance": 0}
        down_at_edge = repairing = failures = repaired = 0  # edge: the start of the period, or its end if backwards
        for transition in transitions:
            time_in_state[transition.before] -= transition.micros
            time_in_state[transition.state] += transition.micros
            down_change = (transition.own_state == _DOWN) - (transition.own_before == _DOWN)  # 1: failed, -1: repaired
            repairing += down_change * transition.micros
            if transition.period is TransitionPeriod.INSIDE:
                failures += transition.number if down_change > 0 else 0
                repaired += transition.number if down_change < 0 else 0
            elif backwards and transition.period is TransitionPeriod.OUTSIDE:
                down_at_edge -= down_change * transition.number
            else:
                down_at_edge += down_change * transition.number
        net = failures - repaired
        down = (down_at_edge - net, down_at_edge) if backwards else (down_at_edge, down_at_edge + net)
        return cls(kind, name, parts, observed, time_in_state, repairing, failures, repaired, *down)
