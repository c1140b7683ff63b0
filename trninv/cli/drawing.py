"""The wiring of a scope as an SVG: a torus as its servers' planes side by side, a switched domain rack by rack.

A link that wraps around a torus is drawn as a stub at either end.
"""

from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise
from xml.etree.ElementTree import Element, SubElement, tostring

from trninv.errors import WrongLevelError
from trninv.routing.graph import Graph
from trninv.units import Bandwidth

Point = tuple[float, float]
Edge = tuple[str, str]

_COLOURS = ("#4269d0", "#97bbf5", "#6cc5b0", "#9c6b4e")
_PATH = "#e4572e"
_SIDE = "#f2c14e"
_TEXT = {"font-family": "sans-serif", "font-size": "13", "fill": "#222"}
_SMALL = _TEXT | {"font-size": "11", "paint-order": "stroke", "stroke": "#fff", "stroke-width": "4"}
_TOP, _LEFT, _STUB = 60.0, 60.0, 20.0


def svg(
    title: str,
    graph: Graph,
    path: Sequence[str] = (),
    caption: str = "",
    *,
    cut: Collection[Edge] = (),
    side: Collection[str] = (),
) -> str:
    """An SVG document of a graph as `Fleet.graph` gives it: a path of addresses marked, or a cut and one side of it.

    Raises
    ------
    WrongLevelError
        More than one domain: there is no one picture of that.

    """
    nodes = [node for node, of in graph.nodes(data=True) if of["kind"] != "nic"]
    if not nodes:
        raise WrongLevelError(f"nothing of {title} is up: there is nothing to draw")
    if len({node.split("/")[1] for node in nodes}) != 1:
        raise WrongLevelError(f"{title} is more than one domain: draw one, such as {title}/d0")
    drawn = graph.subgraph(nodes)
    torus = all(graph.nodes[node]["position"] for node in nodes)
    at = _torus(drawn) if torus else _switched(drawn)
    width, height = max(x for x, _ in at.values()) + _LEFT, max(y for _, y in at.values()) + _TOP
    models = sorted({(-edge["bandwidth"], edge["model"]) for _, _, edge in drawn.edges(data=True)})
    box = f"0 0 {max(width, 420):g} {height + 18 * len(models):g}"
    root = Element("svg", xmlns="http://www.w3.org/2000/svg", viewBox=box)
    SubElement(root, "title").text = title
    SubElement(root, "rect", width="100%", height="100%", fill="white")
    marked = {frozenset(edge) for edge in (*pairwise(path), *cut)}
    colour = {model: _COLOURS[i % len(_COLOURS)] for i, (_, model) in enumerate(models)}
    for a, b, edge in sorted(drawn.edges(data=True), key=lambda e: frozenset(e[:2]) in marked):
        _edge(
            root,
            drawn,
            at,
            (a, b),
            _PATH if frozenset((a, b)) in marked else colour[edge["model"]],
            torus=torus,
        )
    for node in nodes:
        _node(root, graph, node, at[node], fill=_PATH if node in path else _SIDE if node in side else None)
    _labels(root, title, caption, at, graph, nodes)
    _legend(root, [(colour[model], f"{model} {Bandwidth(-value)}") for value, model in models], height)
    return tostring(root, encoding="unicode") + "\n"


def _torus(graph: Graph) -> dict[str, Point]:
    """Column to the right, row down, server (the first of three coordinates) a plane further right."""
    at = {}
    for node, of in graph.nodes(data=True):
        *server, row, column = of["position"]
        plane = server[0] if server else 0
        at[node] = (_LEFT + 250.0 * plane + 52.0 * column, _TOP + 30 + 70.0 * row + 15.0 * column)
    return at


def _switched(graph: Graph) -> dict[str, Point]:
    """A column a rack, a row a server; its switch left of its chips, the rack's switch left of all."""
    servers = sorted({(of["rack"], of["server"]) for _, of in graph.nodes(data=True) if of["server"] is not None})
    first = {rack: min(s for r, s in servers if r == rack) for rack, _ in servers}
    chips = max(sum(of["server"] == s and of["kind"] == "chip" for _, of in graph.nodes(data=True)) for _, s in servers)
    step, rise = 26.0, 7.0
    width, row_height = 150 + step * chips, 16 + rise * chips
    racks = {rack: i for i, rack in enumerate(sorted(first))}
    rows = max(s - first[r] for r, s in servers) + 1
    at = {}
    for node, of in graph.nodes(data=True):
        x = _LEFT + racks[of["rack"]] * width
        if of["server"] is None:
            at[node] = (x, _TOP + 30 + rows * row_height / 2)
        else:
            chip = int(node.rsplit("/c", 1)[1]) if of["kind"] == "chip" else chips / 2
            right = 70 + step * chip if of["kind"] == "chip" else 40
            at[node] = (x + right, _TOP + 30 + (of["server"] - first[of["rack"]]) * row_height + rise * chip)
    return at


def _edge(root: Element, graph: Graph, at: dict[str, Point], edge: Edge, colour: str, *, torus: bool) -> None:
    (ax, ay), (bx, by) = at[edge[0]], at[edge[1]]
    strong = colour == _PATH
    style = {"stroke": colour, "stroke-width": "4" if strong else "1.3", "opacity": "1" if strong else "0.7"}
    positions = [graph.nodes[node]["position"] for node in edge]
    if torus and max(abs(x - y) for x, y in zip(*positions, strict=True)) > 1:
        length = ((bx - ax) ** 2 + (by - ay) ** 2) ** 0.5
        dx, dy = _STUB * (bx - ax) / length, _STUB * (by - ay) / length
        _line(root, (ax, ay), (ax - dx, ay - dy), style)
        _line(root, (bx, by), (bx + dx, by + dy), style)
    else:
        _line(root, (ax, ay), (bx, by), style)


def _line(root: Element, a: Point, b: Point, style: dict[str, str]) -> None:
    ends = {"x1": a[0], "y1": a[1], "x2": b[0], "y2": b[1]}
    SubElement(root, "line", {name: f"{value:.1f}" for name, value in ends.items()} | style)


def _node(root: Element, graph: Graph, node: str, at: Point, *, fill: str | None) -> None:
    style = {"fill": fill or "#fff", "stroke": "#222", "stroke-width": "1"}
    x, y = at
    if graph.nodes[node]["kind"] == "chip":
        shape = SubElement(root, "circle", {"cx": f"{x:.1f}", "cy": f"{y:.1f}", "r": "6"} | style)
    else:
        corner = {"x": f"{x - 6:.1f}", "y": f"{y - 6:.1f}", "width": "12", "height": "12"}
        shape = SubElement(root, "rect", corner | style | ({} if fill else {"fill": "#ddd"}))
    SubElement(shape, "title").text = node


def _labels(root: Element, title: str, caption: str, at: dict[str, Point], graph: Graph, nodes: Iterable[str]) -> None:
    SubElement(root, "text", {"x": "20", "y": "24", **_TEXT, "font-size": "16", "font-weight": "bold"}).text = title
    SubElement(root, "text", {"x": "20", "y": "44", **_TEXT}).text = caption
    corner: dict[int, Point] = {}
    for node in nodes:
        if (server := graph.nodes[node]["server"]) is not None:
            x, y = corner.get(server, (1e9, 1e9))
            corner[server] = min(x, at[node][0]), min(y, at[node][1])
    for server, (x, y) in corner.items():
        SubElement(root, "text", {"x": f"{x - 12:.1f}", "y": f"{y - 14:.1f}", **_SMALL}).text = f"s{server}"


def _legend(root: Element, lines: Iterable[tuple[str, str]], top: float) -> None:
    for number, (colour, text) in enumerate(lines):
        y = top + 18 * number
        _line(root, (20, y), (44, y), {"stroke": colour, "stroke-width": "3"})
        SubElement(root, "text", {"x": "50", "y": f"{y + 4:.1f}", **_TEXT}).text = f"{text} one direction"
