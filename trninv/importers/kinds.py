"""The sources that can be read: one file each, by the name that `trninv import` gives it."""

from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import Final

from trninv.importers import ec2, hyperpod, kubernetes, neuron_ls, neuron_monitor, neuron_sysfs, slurm
from trninv.importers.observed import Seen
from trninv.importers.reading import Source

Reader = Callable[[Source], Iterator[Seen]]
Expected = Mapping[str, str]
"""Fields that a source should report, with where it has them."""

_FILES: tuple[ModuleType, ...] = (neuron_ls, neuron_monitor, neuron_sysfs, ec2, kubernetes, slurm, hyperpod)

_KINDS: Final = {file.__name__.rpartition(".")[2].replace("_", "-"): file for file in _FILES}

READERS: Final[Mapping[str, Reader]] = {kind: file.read for kind, file in _KINDS.items()}
EXPECTED: Final[Mapping[str, Expected]] = {kind: file.EXPECTED for kind, file in _KINDS.items()}
OF_MACHINES: Final = frozenset({"neuron-ls", "neuron-monitor", "neuron-sysfs"})
"""Sources that are machines themselves; the others are managers of many."""
