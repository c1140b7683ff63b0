"""Register the readers of all sources by the name that `trninv import` uses."""

from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import Final

from trninv.importers import ec2, hyperpod, kubernetes, neuron_ls, neuron_monitor, neuron_sysfs, slurm
from trninv.importers.input_file import InputFile
from trninv.importers.records import ObservedRecord

SourceReader = Callable[[InputFile], Iterator[ObservedRecord]]
ExpectedFields = Mapping[str, str]
"""Fields that a source should report, with their names in the source."""

_MODULES: tuple[ModuleType, ...] = (neuron_ls, neuron_monitor, neuron_sysfs, ec2, kubernetes, slurm, hyperpod)

_MODULE_BY_KIND: Final = {module.__name__.rpartition(".")[2].replace("_", "-"): module for module in _MODULES}

READERS: Final[Mapping[str, SourceReader]] = {kind: module.read for kind, module in _MODULE_BY_KIND.items()}
EXPECTED: Final[Mapping[str, ExpectedFields]] = {kind: module.EXPECTED for kind, module in _MODULE_BY_KIND.items()}
OF_MACHINES: Final = frozenset({"neuron-ls", "neuron-monitor", "neuron-sysfs"})
"""Sources whose files come from one machine; the others are managers of many machines."""
