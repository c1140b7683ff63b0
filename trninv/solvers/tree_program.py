"""Solve the linear program over trees that bounds an all-to-all, for `trninv.solvers.collectives`.

This is a separate module because SciPy's optimizers are slow to import.
"""

import numpy as np
from scipy.optimize import linprog

from trninv import deadline
from trninv.solvers.path_trees import Floats, Ints


class TreeProgram:
    """The linear program over the trees so far: maximize θ, where every endpoint sends at the rate θ along its trees.

    No link may be overloaded. Links are in the same class if a symmetry of the graph maps them onto each other, and so
    are endpoints. The average of a tree's images under all symmetries loads the links of a class evenly, so some
    optimal solution is symmetric, and the program needs only one row for each class.

    Attributes
    ----------
    capacity
        Capacity of each link in both directions together, relative to the unit that the caller chooses.

    """

    def __init__(self, capacity: Floats, link_class: Ints, endpoints_by_class: Ints) -> None:
        self.capacity, self._link_class, self._endpoints_by_class = capacity, link_class, endpoints_by_class
        self._class_capacity: Floats = np.bincount(link_class, capacity).astype(float)
        self._load_rounds: list[Floats] = []

    @property
    def tree_count(self) -> int:
        """Number of trees so far; each round adds one for each class of endpoints."""
        return sum(map(len, self._load_rounds))

    def add_columns(self, loads: Floats) -> tuple[float, Floats]:
        """Add one tree for each class of endpoints; return the best θ and the prices of the links.

        ``loads`` has the loads of each tree, whose root is one endpoint of the class, on the links (classes × links).
        """
        sums = np.array([np.bincount(self._link_class, tree_loads) for tree_loads in loads], dtype=np.float64)
        self._load_rounds.append(sums * self._endpoints_by_class[:, None])
        rounds, class_count = len(self._load_rounds), len(self._endpoints_by_class)
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
            raise AssertionError(f"the linear program has no solution, but θ = 0 always is one: {solved.message}")
        flows = solved.x[1:]
        link_loads = (columns.T @ flows) / self._class_capacity
        sent_by_class = np.bincount(np.arange(len(columns)) % class_count, weights=flows)
        # θ is scaled down if rounding errors overload a link
        theta = float(sent_by_class.min()) / max(float(link_loads.max()), 1.0)
        return theta, np.maximum(-solved.ineqlin.marginals[: len(self._class_capacity)], 0)[self._link_class]
