"""Algorithms over graphs: flows, cuts, paths, bisections and collectives, without database or hardware.

A solver takes a graph of integer node ids whose links have a ``capacity`` (bytes per second, one direction) and returns
immutable values. `trninv.routing` and `trninv.placement` call the solvers. Modules are used as ``solvers.max_flow``,
which imports them on first use, because networkx and SciPy are slow to import and a shortest path needs neither.

In the complexities V is the number of nodes and E the number of links.
"""

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trninv.solvers import (
        adjacency,
        bisection,
        checkpointing,
        collectives,
        components,
        cut_enumeration,
        distances,
        failure_forms,
        graph,
        graph_measures,
        hubs,
        integer_programs,
        islands,
        max_flow,
        pair_flows,
        parts,
        path_trees,
        quotient,
        rings,
        share_selection,
        shortest_paths,
        subset_sum,
        survival,
        symmetry,
        torus_blocks,
        torus_cuts,
        tree_packing,
        tree_program,
    )


def __getattr__(name: str) -> ModuleType:
    """Import a module of the package on first use."""
    module = f"{__name__}.{name}"
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
