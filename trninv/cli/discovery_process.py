"""Run `trninv discover --every` beside the service."""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext

from trninv.cli.background_process import background_process
from trninv.discovery.provider import find_provider
from trninv.discovery.target import parse_target
from trninv.errors import UsageError
from trninv.importers.collection_schedule import parse_duration


def check_targets(targets: Sequence[str], every: str) -> None:
    """Refuse targets or an interval that `trninv discover` would refuse.

    Raises
    ------
    UsageError
        A setting is wrong.

    """
    for target in targets:
        find_provider(parse_target(target))
    if not parse_duration(every, "TRNINV_DISCOVER_EVERY"):
        raise UsageError("TRNINV_DISCOVER_EVERY=0s is no interval; write for example 5m")


def run_discovery(targets: Sequence[str], every: str) -> AbstractContextManager[None]:
    """Return a context in which a process pulls the targets; nothing runs without targets."""
    return background_process("discover", [*targets, "--every", every]) if targets else nullcontext()
