"""ASTRA-sim's analytical network: a domain whose wiring is a product of rings, the innermost dimension first.

Its "GB/s" are multiplied by 2³⁰ when it reads them, so they are written as GiB/s.
"""

from collections.abc import Iterable, Iterator, Mapping
from math import prod
from typing import NamedTuple

from sqlalchemy import select

from trninv.errors import NotExpressibleError
from trninv.exporters import graph, yaml_text
from trninv.exporters.format import Format, Record
from trninv.exporters.source import Source
from trninv.inventory.address import parse
from trninv.inventory.schema import TABLES
from trninv.topology.register import sides
from trninv.topology.torus import torus

_GIB = 2**30
_FACT = TABLES["fact"]


class _Link(NamedTuple):
    bandwidth: int
    technology: str


def _write(source: Source) -> Iterator[str]:
    rings = [(length, link, _nanoseconds(source, link)) for length, link in _rings(source)]
    yield "# GiB/s of a link in one direction; nanoseconds as trninv facts has them"
    yield from yaml_text.document(
        {
            "topology": ["Ring"] * len(rings),
            "npus_count": [length for length, _, _ in rings],
            "bandwidth": [link.bandwidth / _GIB for _, link, _ in rings],
            "latency": [nanoseconds for _, _, nanoseconds in rings],
        }
    )


def _nanoseconds(source: Source, link: _Link) -> float:
    of = _FACT.c.subject == link.technology.lower(), _FACT.c.attribute == "latency", _FACT.c.preference == 0
    return float(source.connection.scalars(select(_FACT.c.value).where(*of)).one())


def _rings(source: Source) -> list[tuple[int, _Link]]:
    """Length and links of each dimension, the innermost first.

    Raises
    ------
    NotExpressibleError
        The wiring, as it is now, is no product of rings of equal links.

    """
    graph.one_domain(source)
    model, here = source.all_servers[0].model, source.place.address
    if model.wiring != "torus":
        raise NotExpressibleError(
            f"{here} is wired as {model.wiring}, and ASTRA-sim has products of rings: use booksim"
        )
    lengths, found = sides(model.sides), _links(source, model.chips)
    links = torus(lengths)
    if found.keys() != {(link.a, link.b) for link in links}:
        raise NotExpressibleError(
            f"{here} is not a whole torus of {model.sides} now, which is what ASTRA-sim takes: use booksim"
        )
    rings = []
    for axis, length in reversed(list(enumerate(lengths))):
        alike = {found[link.a, link.b] for link in links if link.axis == axis}
        if len(alike) > 1:
            raise NotExpressibleError(
                f"links of {here} along one axis differ in what they carry: ASTRA-sim has one number"
            )
        rings.append((length, alike.pop()))
    return rings


def _links(source: Source, chips_per_server: int) -> Mapping[tuple[int, int], _Link]:
    """By the numbers of their chips in the domain; what a part lacks of a torus shows."""
    found = {}
    for edge in graph.edges(source):
        if edge.scope not in ("host", "fabric"):
            ends = [dict(parse(end).steps) for end in (edge.a, edge.b)]
            a, b = (end["s"] * chips_per_server + end["c"] for end in ends)
            found[a, b] = _Link(edge.bandwidth_bytes_per_s, edge.technology)
    return found


def _read(lines: Iterable[str]) -> Iterator[Record]:
    (found,) = yaml_text.documents(lines)
    yield prod(found["npus_count"]), len(found["topology"])
    for kind, length, bandwidth in zip(*(found[key] for key in ("topology", "npus_count", "bandwidth")), strict=True):
        yield kind, length, round(bandwidth * _GIB)


def _records(source: Source) -> Iterator[Record]:
    rings = _rings(source)
    yield sum(len(server.chips) for server in source.servers), len(rings)
    for length, link in rings:
        yield "Ring", length, link.bandwidth


FORMAT = Format(
    name="astra-sim",
    suffix=".yml",
    says="ASTRA-sim's analytical network: one domain that is a product of rings",
    write=_write,
    read=_read,
    records=_records,
)
