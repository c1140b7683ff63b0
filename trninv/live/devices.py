"""What instances of a type have that no row of the design says: their type's name, NUMA nodes, the EFA beside a chip.

As aws-neuron/connected-device-maps-over-efa-for-neuron and the documentation of neuron-ls have it; what they do not
name is not here, and is not compared.
"""

from collections.abc import Mapping, Sequence
from typing import Final

TYPES: Final[Mapping[str, tuple[str, ...]]] = {
    "trn1.2xlarge": ("trn1.2xlarge",),
    "trn1.32xlarge": ("trn1.32xlarge", "trn1n.32xlarge"),
    "trn2-16.48xlarge": ("trn2.48xlarge",),
    "u-trn2x64": ("trn2u.48xlarge",),
}
"""EC2's types of the servers of a model of domain; no document names those of Trn3."""


def _efas(places: str, end: str) -> tuple[str, ...]:
    return tuple(f"0000:{each}{end}" for each in places.split())


_TRN1 = _efas("10:1a 10:1a a0:1a a0:1a 20:19 20:19 90:19 90:19 20:1a 20:1a 90:1a 90:1a 10:19 10:19 a0:19 a0:19", ".0")
_TRN1N = _efas("10:17 10:1a a0:17 a0:1a 20:19 20:18 90:19 90:18 20:17 20:1a 90:17 90:1a 10:19 10:18 a0:19 a0:18", ".0")
_TRN2 = _efas("c9 b4 b3 ca 6c 57 56 6d 98 83 82 99 f5 e0 df f6", ":00.0")

EFAS: Final[Mapping[str, Sequence[str]]] = {
    "trn1.32xlarge": _TRN1,
    "trn1n.32xlarge": _TRN1N,
    "trn2.48xlarge": _TRN2,
    "trn2u.48xlarge": _TRN2,
}
"""PCI address of the EFA device next to each chip, by type."""

_TRN2_NUMA = (1,) * 4 + (0,) * 8 + (1,) * 4
NUMA_NODES: Final[Mapping[str, Sequence[int]]] = {"trn2.48xlarge": _TRN2_NUMA, "trn2u.48xlarge": _TRN2_NUMA}
"""NUMA node of each chip, by type."""
