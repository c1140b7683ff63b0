"""The sources that can be read: one file each, by the name that `trninv import` gives it."""

from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import Final

from trninv.importers import ec2, hyperpod, kubernetes, neuron_ls, neuron_monitor, neuron_sysfs, slurm
from trninv.importers.observed import Seen
from trninv.importers.reading import Source

Reader = Callable[[Source], Iterator[Seen]]

_FILES: tuple[ModuleType, ...] = (neuron_ls, neuron_monitor, neuron_sysfs, ec2, kubernetes, slurm, hyperpod)

READERS: Final[Mapping[str, Reader]] = {
    file.__name__.rpartition(".")[2].replace("_", "-"): file.read for file in _FILES
}
