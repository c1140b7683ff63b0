"""Store the results of checks in a file, which `CheckWatch` writes and all processes of the service read."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Final

import orjson

from trninv.atomic_file import atomic_write
from trninv.checks.evaluation import CheckResult, Verdict

_OPENED_FILES: Final = 4
"""Reports that are kept in memory: a service reads one, of which a version is replaced now and then."""


@dataclass(frozen=True, slots=True)
class CheckStatus(CheckResult):
    """A check's latest result on the latest state of the fleet."""

    changed_at: Annotated[str, "When it got this verdict (UTC); at the first evaluation, when that was."] = ""


@dataclass(frozen=True, slots=True)
class CheckReport:
    """The latest results of all checks of a file.

    Attributes
    ----------
    evaluated_at
        When they were evaluated last, in seconds since 1970.
    seconds
        How long that took.

    """

    evaluated_at: float
    seconds: float
    statuses: Sequence[CheckStatus]


def write_report(file: Path, report: CheckReport) -> None:
    """Replace the file by a report; who reads it meanwhile reads either of the two."""
    with atomic_write(file) as temporary:
        temporary.write_bytes(orjson.dumps(asdict(report)))


def read_report(file: Path | None) -> CheckReport | None:
    """Return the report in a file; None if there is none (yet)."""
    if file is None:
        return None
    try:
        stat = file.stat()
        return _parse_report(file, (stat.st_ino, stat.st_mtime_ns, stat.st_size))
    except OSError:
        return None


@lru_cache(maxsize=_OPENED_FILES)
def _parse_report(file: Path, _identity: tuple[int, ...]) -> CheckReport:
    content = orjson.loads(file.read_bytes())
    statuses = [CheckStatus(**status | {"verdict": Verdict(status["verdict"])}) for status in content.pop("statuses")]
    return CheckReport(statuses=tuple(statuses), **content)
