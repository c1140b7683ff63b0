"""Write ASTRA-sim's analytical network: a domain whose wiring is a product of rings, the innermost dimension first.

ASTRA-sim multiplies its "GB/s" by 2³⁰ when it reads them, so bandwidths are written in GiB/s.
"""

from collections.abc import Iterable, Iterator, Mapping
from math import prod
from typing import NamedTuple

from sqlalchemy import select

from trninv.database.tables import TABLES
from trninv.errors import NotExpressibleError
from trninv.exporters import graph_stream, serialization
from trninv.exporters.export_source import ExportSource
from trninv.exporters.format import Format, Record
from trninv.inventory.address.syntax import parse
from trninv.topology.registry import parse_sides
from trninv.topology.torus import torus_links

_GIB = 2**30
_FACT = TABLES["fact"]


class _Link(NamedTuple):
    bandwidth: int
    technology: str


def _write(source: ExportSource) -> Iterator[str]:
    rings = [(length, link, _nanoseconds(source, link)) for length, link in _rings(source)]
    yield "# bandwidth: GiB/s of a link in one direction; latency: nanoseconds (trninv facts)"
    yield from serialization.yaml_document(
        {
            "topology": ["Ring"] * len(rings),
            "npus_count": [length for length, _, _ in rings],
            "bandwidth": [link.bandwidth / _GIB for _, link, _ in rings],
            "latency": [nanoseconds for _, _, nanoseconds in rings],
        }
    )


def _nanoseconds(source: ExportSource, link: _Link) -> float:
    conditions = _FACT.c.subject == link.technology.lower(), _FACT.c.attribute == "latency", _FACT.c.preference == 0
    return float(source.connection.scalars(select(_FACT.c.value).where(*conditions)).one())


def _rings(source: ExportSource) -> list[tuple[int, _Link]]:
    """Return length and link of each dimension, the innermost first.

    Raises
    ------
    NotExpressibleError
        The wiring is not a product of rings of equal links at present.

    """
    graph_stream.require_one_domain(source)
    model, address = source.all_servers[0].model, source.place.address
    if model.wiring != "torus":
        raise NotExpressibleError(
            f"{address} has the wiring {model.wiring}, and ASTRA-sim needs a product of rings; use booksim"
        )
    lengths, present = parse_sides(model.sides), _links(source, model.chips)
    links = torus_links(lengths)
    if present.keys() != {(link.a, link.b) for link in links}:
        raise NotExpressibleError(
            f"{address} is not a complete torus of {model.sides} now, which ASTRA-sim needs; use booksim"
        )
    rings = []
    for axis, length in reversed(list(enumerate(lengths))):
        distinct = {present[link.a, link.b] for link in links if link.axis == axis}
        if len(distinct) > 1:
            raise NotExpressibleError(
                f"links of {address} along one axis differ in bandwidth, and ASTRA-sim has one per axis; use booksim"
            )
        rings.append((length, distinct.pop()))
    return rings


def _links(source: ExportSource, chips_per_server: int) -> Mapping[tuple[int, int], _Link]:
    """Return the links between chips, by the chips' numbers in the domain, so that missing links of a torus show."""
    links = {}
    for edge in graph_stream.read_edges(source):
        if edge.scope not in ("host", "fabric"):
            ends = [dict(parse(end).steps) for end in (edge.a, edge.b)]
            a, b = (end["s"] * chips_per_server + end["c"] for end in ends)
            links[a, b] = _Link(edge.bandwidth_bytes_per_s, edge.technology)
    return links


def _read(lines: Iterable[str]) -> Iterator[Record]:
    (document,) = serialization.read_yaml_documents(lines)
    yield prod(document["npus_count"]), len(document["topology"])
    for kind, length, bandwidth in zip(
        *(document[key] for key in ("topology", "npus_count", "bandwidth")), strict=True
    ):
        yield kind, length, round(bandwidth * _GIB)


def _records(source: ExportSource) -> Iterator[Record]:
    rings = _rings(source)
    yield sum(len(server.chips) for server in source.servers), len(rings)
    for length, link in rings:
        yield "Ring", length, link.bandwidth


FORMAT = Format(
    name="astra-sim",
    suffix=".yml",
    description="ASTRA-sim's analytical network: a domain that is a product of rings",
    write=_write,
    read=_read,
    expected_records=_records,
)
