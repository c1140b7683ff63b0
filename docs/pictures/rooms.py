"""Draw the rooms of trninv in layers, from the contract of import-linter and the table of the page on architecture.

``python docs/pictures/rooms.py`` writes docs/pictures/architecture.svg.
"""

import re
import tomllib
from collections.abc import Iterator
from html import escape
from pathlib import Path

_ROOT = Path(__file__).parents[2]
PICTURE = Path(__file__).with_name("architecture.svg")
_CONTRACT = "A room knows its neighbours only downward"
_WIDTH, _ROW, _GAP, _EDGE = 960, 30, 8, 24
"""Pixels: of the picture, of a room, between layers, and around all."""
_COLORS = (("#dfe8fa", "#6f92d8"), ("#eef0f4", "#98a1b3"))
"""Fill and stroke of layers, alternately."""


def render() -> str:
    """Return the picture: one box a layer, one line a room."""
    layers, purposes = list(_layers()), _purposes()
    height = 2 * _EDGE + sum(_ROW * len(rooms) + _GAP for rooms in layers) - _GAP
    title = "; ".join(" and ".join(rooms) for rooms in layers)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}"',
        ' role="img" aria-labelledby="title desc" font-family="sans-serif" font-size="13" fill="#12161c">',
        '<title id="title">The rooms of trninv</title>',
        f'<desc id="desc">Layers from top to bottom: {title}. A room imports only from rooms below it.</desc>',
        f'<rect width="{_WIDTH}" height="{height}" rx="14" fill="#ffffff"/>',
    ]
    top = _EDGE
    for number, rooms in enumerate(layers):
        fill, stroke = _COLORS[number % 2]
        box = f'x="{_EDGE}" y="{top}" width="{_WIDTH - 3 * _EDGE - 20}" height="{_ROW * len(rooms)}"'
        lines.append(f'<rect {box} rx="8" fill="{fill}" stroke="{stroke}"/>')
        for line, room in enumerate(rooms):
            y = top + _ROW * line + 20
            lines.append(f'<text x="{_EDGE + 14}" y="{y}" font-weight="bold">{room}</text>')
            lines.append(f'<text x="{_EDGE + 150}" y="{y}">{escape(purposes[room])}</text>')
        top += _ROW * len(rooms) + _GAP
    x = _WIDTH - _EDGE - 30
    lines += [
        f'<path d="M{x},{_EDGE} V{height - _EDGE} m-6,-10 l6,10 l6,-10"',
        ' fill="none" stroke="#3f5f9f" stroke-width="2"/>',
        f'<text x="{x + 20}" y="{height // 2}" text-anchor="middle" fill="#3f5f9f"',
        f' transform="rotate(90 {x + 20} {height // 2})">imports point down only</text>',
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _layers() -> Iterator[list[str]]:
    """Yield the rooms of each layer, the top one first; modules that every room shares count as one room."""
    contracts = tomllib.loads((_ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (contract,) = (contract for contract in contracts if contract["name"] == _CONTRACT)
    for layer in contract["layers"]:
        names = [name.strip().removeprefix("trninv.") for name in layer.split("|")]
        if any((_ROOT / "trninv" / name).is_dir() for name in names):
            yield names
    yield ["modules"]


def _purposes() -> dict[str, str]:
    """Return what each room does, as the page says."""
    page = (_ROOT / "docs/explanation/architecture.md").read_text()
    rooms = re.findall(r"^\| `trninv/(\w+)/` \| (.*) \|$", page, re.MULTILINE)
    return {**dict(rooms), "modules": "Units, errors, settings, deadlines and the like, which every room may import."}


if __name__ == "__main__":
    PICTURE.write_text(render())
