"""The linear program of `trninv.solvers.collectives`; SciPy's solver takes longer to import than many answers take."""

import numpy as np
from scipy.optimize import linprog

from trninv import deadline
from trninv.solvers.trees import Floats, Ints


class TreeProgram:
    """The linear program over the trees so far: every endpoint sends θ along trees, no link gets too much.

    Some best solution is symmetric, so links that are alike, and endpoints, are one: their sums are in proportion.

    Attributes
    ----------
    capacity
        Of the links, both directions together.

    """

    def __init__(self, capacity: Floats, wires: Ints, ends: Ints) -> None:
        self.capacity, self._wires, self._ends = capacity, wires, ends
        self._carries: Floats = np.bincount(wires, capacity).astype(float)
        self._loads: list[Floats] = []

    @property
    def columns(self) -> int:
        """How many trees there are, one of each kind of endpoint a round."""
        return sum(map(len, self._loads))

    def add(self, loads: Floats) -> tuple[float, Floats]:
        """Best θ with more trees, and the prices of the links."""
        self._loads.append(self._together(loads))
        rounds, kinds = len(self._loads), int(self._ends.max()) + 1
        columns = np.concatenate(self._loads)
        sends = np.tile(-np.eye(kinds), rounds)
        matrix = np.block([[np.zeros((len(self._carries), 1)), columns.T], [np.ones((kinds, 1)), sends]])
        bounds = np.concatenate([self._carries, np.zeros(kinds)])
        cost = np.zeros(matrix.shape[1])
        cost[0] = -1
        left = deadline.remaining(np.inf)
        solved = linprog(cost, A_ub=matrix, b_ub=bounds, method="highs", options={"time_limit": left})
        deadline.check()
        if solved.x is None:
            raise AssertionError(f"a linear program that always has a solution: {solved.message}")
        flows = solved.x[1:]
        loaded = (columns.T @ flows) / self._carries
        sent = np.bincount(np.arange(len(columns)) % kinds, weights=flows)
        theta = float(sent.min()) / max(float(loaded.max()), 1.0)
        return theta, np.maximum(-solved.ineqlin.marginals[: len(self._carries)], 0)[self._wires]

    def _together(self, loads: Floats) -> Floats:
        """Loads by classes of endpoints and of links."""
        found = np.zeros((int(self._ends.max()) + 1, len(self._carries)))
        np.add.at(found, (self._ends[:, None], self._wires[None, :]), loads)
        return found
