"""The colors that are shipped: legible, and told apart by people who see few of them."""

import itertools
import re

import numpy as np
import pytest
from numpy.typing import NDArray

from trninv.service.explorer import WEB_DIRECTORY

THEMES = ("light", "dark")
STATES = ("up", "degraded", "down", "maintenance", "allocated")
JOBS = "abcdefghijkl"
TEXT = [
    ("ink", "surface", 7), ("ink-2", "surface", 7), ("ink-3", "surface", 4.5), ("ink-3", "bg", 4.5),
    ("ink-3", "sunken", 4.5), ("accent", "surface", 4.5), ("accent", "accent-soft", 4.5), ("on-accent", "accent", 4.5),
    *((f"{state}-text", "surface", 4.5) for state in (*STATES, "free")),
    *((f"{state}-text", f"{state}-soft", 4.5) for state in ("degraded", "down", "maintenance")),
    *((f"on-job-{job}", f"job-{job}", 4.5) for job in JOBS), ("ink", "side-a", 4.5), ("ink", "side-b", 4.5),
]  # fmt: skip
MARKS = ("line-strong", "down", "maintenance", "allocated", "reserved", "path", "cut", "link-a", "link-b", "link-c")
APART = {
    0.1: (STATES, *((mark, state) for mark in ("path", "cut") for state in STATES), ("side-a", "side-b")),
    0.09: (tuple(f"job-{job}" for job in JOBS),),
    0.045: (("link-a", "link-b", "link-c", "path"),),
}
VISIONS = {
    "normal": np.eye(3),
    "protan": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deutan": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritan": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
"""Machado, Oliveira and Fernandes 2009, severity 1."""
_LMS = [[0.4122214708, 0.5363325363, 0.0514459929], [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005]]  # fmt: skip
_LAB = [[0.2104542553, 0.7936177850, -0.0040720468], [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660]]  # fmt: skip

Colors = dict[str, NDArray[np.float64]]


@pytest.fixture(scope="module", params=THEMES)
def colors(request: pytest.FixtureRequest) -> Colors:
    """Linear light of each token of a theme."""
    sheet = (WEB_DIRECTORY / "assets" / "index.css").read_text()
    of = "light" if request.param == "light" else "dark"
    found = re.findall(rf"--([a-z0-9-]+):(?:[^;}}]*?var\(--lightningcss-{of},)?(#[0-9a-f]{{3,6}})[);}}]", sheet)
    return {name: linear(color) for name, color in found}


def linear(color: str) -> NDArray[np.float64]:
    digits = color[1:] if len(color) == 7 else "".join(2 * digit for digit in color[1:])
    srgb = np.array([int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)])
    return np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)


def contrast(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    light, dark = sorted((float(each @ (0.2126, 0.7152, 0.0722)) for each in (a, b)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def oklab(color: NDArray[np.float64], vision: str) -> NDArray[np.float64]:
    seen = np.clip(np.array(VISIONS[vision]) @ color, 0, 1)
    return np.array(_LAB) @ np.cbrt(np.array(_LMS) @ seen)


@pytest.mark.parametrize(("ink", "paper", "least"), [*TEXT, *((mark, "surface", 3) for mark in MARKS)])
def test_what_is_read_stands_out(colors: Colors, ink: str, paper: str, least: float) -> None:
    assert contrast(colors[ink], colors[paper]) >= least


@pytest.mark.parametrize("vision", VISIONS)
def test_what_means_something_else_looks_different(colors: Colors, vision: str) -> None:
    for least, sets in APART.items():
        for a, b in itertools.chain.from_iterable(itertools.combinations(names, 2) for names in sets):
            distance = np.linalg.norm(oklab(colors[a], vision) - oklab(colors[b], vision))
            assert distance >= least, (a, b, vision)


def test_the_measures_are_the_published_ones() -> None:
    assert contrast(linear("#fff"), linear("#000")) == pytest.approx(21)
    assert np.allclose(oklab(linear("#fff"), "normal"), (1, 0, 0), atol=1e-3)
