"""Solve the linear program of `trninv.solvers.collectives`, in a module of its own because SciPy is slow to import."""

import numpy as np
from scipy.optimize import linprog

from trninv import deadline
from trninv.solvers.path_trees import Floats, Ints


class TreeProgram:
    """The linear program over the trees so far: every endpoint sends θ along trees, and no link is overloaded.

    Some optimal solution is symmetric, so the links of one symmetry class share a row, and so do endpoints.

    Attributes
    ----------
    capacity
        Capacity of each link, both directions together.

    """

    def __init__(self, capacity: Floats, link_class: Ints, endpoint_class: Ints) -> None:
        self.capacity, self._link_class, self._endpoint_class = capacity, link_class, endpoint_class
        self._class_capacity: Floats = np.bincount(link_class, capacity).astype(float)
        self._load_rounds: list[Floats] = []

    @property
    def tree_count(self) -> int:
        """Number of trees, one for each class of endpoints in each round."""
        return sum(map(len, self._load_rounds))

    def add_columns(self, loads: Floats) -> tuple[float, Floats]:
        """Add a round of trees by their loads; return the best θ and the prices of the links."""
        self._load_rounds.append(self._sum_by_class(loads))
        rounds, class_count = len(self._load_rounds), int(self._endpoint_class.max()) + 1
        columns = np.concatenate(self._load_rounds)
        demands = np.tile(-np.eye(class_count), rounds)
        matrix = np.block([[np.zeros((len(self._class_capacity), 1)), columns.T], [np.ones((class_count, 1)), demands]])
        bounds = np.concatenate([self._class_capacity, np.zeros(class_count)])
        cost = np.zeros(matrix.shape[1])
        cost[0] = -1
        time_left = deadline.cap_timeout(np.inf)
        solved = linprog(cost, A_ub=matrix, b_ub=bounds, method="highs", options={"time_limit": time_left})
        deadline.raise_if_expired()
        if solved.x is None:
            raise AssertionError(f"a linear program that always has a solution: {solved.message}")
        flows = solved.x[1:]
        link_loads = (columns.T @ flows) / self._class_capacity
        sent_by_class = np.bincount(np.arange(len(columns)) % class_count, weights=flows)
        theta = float(sent_by_class.min()) / max(float(link_loads.max()), 1.0)
        return theta, np.maximum(-solved.ineqlin.marginals[: len(self._class_capacity)], 0)[self._link_class]

    def _sum_by_class(self, loads: Floats) -> Floats:
        """Return the loads summed by classes of endpoints and of links."""
        sums = np.zeros((int(self._endpoint_class.max()) + 1, len(self._class_capacity)))
        np.add.at(sums, (self._endpoint_class[:, None], self._link_class[None, :]), loads)
        return sums
