"""Define what `Fleet.draw` returns, and what an answer marks in it; `trninv.drawing` draws."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

_MAX_WIDTH = 900
"""The maximum width of a picture in a notebook, in pixels."""


@dataclass(frozen=True, slots=True)
class Highlight:
    """The links and nodes of a path, or the links of a cut and the chips on one side of it; for both, the endpoints.

    In a picture of jobs, the nodes are the places of a proposed job.
    """

    links: Collection[frozenset[str]] = ()
    nodes: Collection[str] = ()
    endpoints: Collection[str] = ()
    cut_side: Collection[str] = ()
    is_cut: bool = False
    caption: str = ""


@dataclass(frozen=True, slots=True)
class Picture:
    """A drawing of a place as SVG, which a notebook shows, with the revision that it was drawn from."""

    scope: str
    svg: str = field(repr=False)
    revision: str | None = field(default=None, repr=False, compare=False)

    def _repr_html_(self) -> str:
        return f'<div style="max-width: {_MAX_WIDTH}px">{self.svg}</div>'


class AnswerOrigin(NamedTuple):
    """The fleet that gave an answer, and the revision that it read."""

    fleet: Any  # one of `trninv.placement.placement_fleet.Fleet`, which imports answers
    revision: str | None


def domain_of(addresses: Iterable[str]) -> str | None:
    """Return the address of the only domain that contains some places; None if there are several."""
    domains = {"/".join(address.split("/")[:2]) for address in addresses}
    return domains.pop() if len(domains) == 1 else None
