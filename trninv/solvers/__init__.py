"""Algorithms over graphs: flows, cuts, paths, bisections, collectives. No database and no hardware in them.

A solver takes a graph of integer node ids whose links have a ``capacity`` (bytes per second, one direction) and gives
frozen numbers and sets. Its module is imported when it is first used, as ``solvers.flow``: a shortest path needs
neither networkx nor SciPy, which are slow to import.
"""

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trninv.solvers import (
        arcs,
        bisection,
        blocks,
        boundary,
        collectives,
        components,
        cut_tree,
        damage,
        disjoint,
        distances,
        enumeration,
        flow,
        graph,
        hubs,
        hypercube,
        integer_program,
        layers,
        packing,
        parts,
        paths,
        ports,
        quotient,
        reach,
        rearrangement,
        rings,
        set_packing,
        shares,
        slices,
        split,
        subset_sum,
        survival,
        symmetry,
        torus_rings,
        tree_program,
        trees,
    )


def __getattr__(name: str) -> ModuleType:
    module = f"{__name__}.{name}"
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
