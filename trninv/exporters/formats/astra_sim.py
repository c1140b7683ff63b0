"""Write a domain as a network for the simulator ASTRA-sim (its analytical backend).

The domain's wiring must be a product of rings, as a torus is; the innermost ring comes first. ASTRA-sim multiplies its
"GB/s" by 2³⁰ when it reads them, so bandwidths are written in GiB/s.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from sqlalchemy import select

from trninv.database.tables import TABLES
from trninv.errors import NotExpressibleError
from trninv.exporters import graph_stream
from trninv.exporters.export_source import ExportSource
from trninv.exporters.format import Comment, Format
from trninv.exporters.yaml_syntax import YAML
from trninv.inventory.address.syntax import parse
from trninv.topology.registry import parse_sides
from trninv.topology.torus import torus_links

_GIB = 2**30
_FACT = TABLES["fact"]


class _Link(NamedTuple):
    bandwidth: int  # bytes/s in one direction
    technology: str


def _content(source: ExportSource) -> Iterator[Any]:
    rings = [(length, link, _latency(source, link)) for length, link in _rings(source)]
    yield Comment("bandwidth: GiB/s of a link in one direction; latency: nanoseconds (trninv facts)")
    yield {
        "topology": ["Ring"] * len(rings),
        "npus_count": [length for length, _, _ in rings],
        "bandwidth": [link.bandwidth / _GIB for _, link, _ in rings],
        "latency": [latency for _, _, latency in rings],
    }


def _latency(source: ExportSource, link: _Link) -> float:
    """Return the documented latency of a link in nanoseconds, or the preferred value if documents disagree."""
    conditions = _FACT.c.subject == link.technology.lower(), _FACT.c.attribute == "latency", _FACT.c.preference == 0
    return float(source.snapshot.connection.scalars(select(_FACT.c.value).where(*conditions)).one())


def _rings(source: ExportSource) -> list[tuple[int, _Link]]:
    """Return length and link of each dimension, the innermost first.

    Raises
    ------
    NotExpressibleError
        The wiring, without its unhealthy parts, is not a product of rings of equal links.

    """
    graph_stream.require_one_domain(source)
    model, address = source.all_servers[0].model, source.place.address
    if model.wiring != "torus":
        raise NotExpressibleError(
            f"{address} has the wiring {model.wiring}, and ASTRA-sim needs a product of rings; use booksim"
        )
    lengths, usable = parse_sides(model.sides), _links(source, model.chips)
    links = torus_links(lengths)
    if usable.keys() != {(link.a, link.b) for link in links}:
        raise NotExpressibleError(
            f"{address} is not a complete torus of {model.sides} now, which ASTRA-sim needs; use booksim"
        )
    rings = []
    for axis, length in reversed(list(enumerate(lengths))):
        distinct = {usable[link.a, link.b] for link in links if link.axis == axis}
        if len(distinct) > 1:
            raise NotExpressibleError(
                f"links of {address} along one axis differ in bandwidth, and ASTRA-sim has one per axis; use booksim"
            )
        rings.append((length, distinct.pop()))
    return rings


def _links(source: ExportSource, chips_per_server: int) -> Mapping[tuple[int, int], _Link]:
    """Return the usable links between chips, by the numbers of their ends among the domain's chips."""
    links = {}
    for edge in graph_stream.read_edges(source):
        if edge.scope not in ("host", "fabric"):  # these end at NICs or network nodes, the others at chips
            ends = [dict(parse(end).steps) for end in (edge.a, edge.b)]  # ordinals of server and chip by "s" and "c"
            a, b = (end["s"] * chips_per_server + end["c"] for end in ends)
            links[a, b] = _Link(edge.bandwidth_bytes_per_s, edge.technology)
    return links


FORMAT = Format(
    name="astra-sim",
    suffix=".yml",
    description="ASTRA-sim's analytical network: a torus domain as one ring per axis",
    syntax=YAML,
    content=_content,
)
