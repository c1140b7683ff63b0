"""Read Slurm's jobs: ``squeue --json``, ``scontrol show job --json`` (since Slurm 23.02), or one job object per line.

Both commands may also use ``--yaml``.

``gres_detail`` has a job's chip numbers on its nodes if gres.conf gives each device a file
(``neuron:trainium2:4(IDX:0-3)``). Without files it has only the number of chips (``neuron:trainium2(CNT:4)``).

A job with a ``time_limit`` ends at its ``end_time`` at the latest, or else so many minutes after its start. Other jobs
have an ``end_time`` a year away, and that of a suspended job moves when it resumes: such jobs have no end.
"""

import re
from collections.abc import Iterator
from typing import Final

from trninv.errors import UsageError
from trninv.hostlist import expand
from trninv.importers.input_file import InputFile
from trninv.importers.json_value import JsonValue, quote_value
from trninv.importers.list_response import read_items
from trninv.importers.scheduler_job import HostAllocation, SchedulerJob, clean_job_name, from_unix_time

_ALLOCATING_STATES: Final = {
    "RUNNING",
    "SUSPENDED",
    "COMPLETING",
    "CONFIGURING",
    "RESIZING",
    "SIGNALING",
    "STAGE_OUT",
    "STOPPED",
}
"""States in which a job has nodes allocated."""
_COMMA = re.compile(r",(?![^(]*\))")
"""A comma outside parentheses."""
_COUNT = re.compile(r"\d{1,4}", re.ASCII)
_INDEX = re.compile(r"(\d{1,4})(?:-(\d{1,4}))?", re.ASCII)
_UNLIMITED: Final = 2**32 - 1
"""The number of minutes that stands for no time limit; newer versions write null or "infinite"."""
_MAX_UNIX_TIME = 2**33
"""The latest Unix time that is accepted, in the year 2242."""


def read(source: InputFile) -> Iterator[SchedulerJob]:
    """Yield the jobs in a file that have nodes allocated."""
    for value in source.yaml_or_json():
        if value.get("job_id").raw is not None:
            yield from _read_job(value)
        elif isinstance(value.raw, dict) and "jobs" in value.raw:
            for job in read_items(value, "jobs"):
                yield from _read_job(job)
        else:
            value.add_error("has neither jobs nor job_id; use the output of squeue --json")


def _read_job(job: JsonValue) -> Iterator[SchedulerJob]:
    """Yield a job if it has nodes allocated."""
    state = job.get("job_state")
    words = state.names() or () if isinstance(state.raw, list) else (state.as_text() or "").split()
    identity = job.get("job_id").as_integer()
    if job.get("job_id").raw is None:
        job.add_error("has no job_id")
    if identity is None or not _ALLOCATING_STATES & {word.upper() for word in words}:
        return
    try:
        hosts = expand(job.get("nodes").as_text() or "")
    except UsageError as error:
        job.get("nodes").add_error(str(error))
        return
    task = job.get("array_task_id").as_integer()
    name = clean_job_name(job.get("name"), str(identity))
    if task is not None:
        name = f"{name} [{task}]"
    start = job.get("start_time").as_integer(_MAX_UNIX_TIME)
    yield SchedulerJob(
        where=job.where,
        identity=str(identity),
        name=name,
        who=clean_job_name(job.get("user_name"), "slurm"),
        allocations=tuple(_read_allocations(job.get("gres_detail"), hosts)),
        submitted_at=from_unix_time(job.get("submit_time").as_integer(_MAX_UNIX_TIME)),
        started_at=from_unix_time(start),
        priority=job.get("priority").as_integer(),
        until=None if "SUSPENDED" in map(str.upper, words) else _read_end(job, start),
    )


def _read_end(job: JsonValue, start: int | None) -> str | None:
    """Return when a job that started at ``start`` ends at the latest; None if that is unknown."""
    limit = job.get("time_limit")
    minutes = limit.as_integer(_UNLIMITED)
    end = job.get("end_time").as_integer(_MAX_UNIX_TIME)
    if not minutes or minutes == _UNLIMITED or (isinstance(limit.raw, dict) and limit.get("infinite").raw is True):
        return None
    return from_unix_time(end or (start and start + 60 * minutes))


def _read_allocations(details: JsonValue, hosts: list[str]) -> Iterator[HostAllocation]:
    """Yield a job's allocation on each host; ``gres_detail`` is in the order of the nodes."""
    entries = details.raw if details.raw is not None and details.is_a(list, "a list") else []
    for number, host in enumerate(hosts):
        detail = JsonValue(entries[number] if number < len(entries) else None, details.errors, details, number)
        text = detail.as_text()
        yield HostAllocation(host) if text is None else _read_allocation(host, detail, text)


def _read_allocation(host: str, detail: JsonValue, text: str) -> HostAllocation:
    """Return a job's allocation on a host: chip numbers if every entry has them, else only the number of chips."""
    chips, count, has_chip_numbers = set[int](), 0, True
    for entry in _COMMA.split(text):
        name, _, amount = entry.removeprefix("gres/").partition("(")
        if name.partition(":")[0] != "neuron":
            continue
        chips_or_count = _parse_amount(name.split(":")[1:], amount)
        if chips_or_count is None:
            detail.add_error(
                f"{quote_value(entry)} names no chips and no number; expected neuron:4(IDX:0-3) or neuron(CNT:4)"
            )
        elif isinstance(chips_or_count, int):
            count, has_chip_numbers = count + chips_or_count, False
        else:
            chips |= chips_or_count
    return (
        HostAllocation(host, tuple(sorted(chips)))
        if chips and has_chip_numbers
        else HostAllocation(host, count=count + len(chips))
    )


def _parse_amount(words: list[str], amount: str) -> set[int] | int | None:
    """Return the chips that an entry names, or else their number; None if the entry is invalid.

    ``words`` follow the name neuron, separated by colons; ``amount`` is the text in parentheses, with the closing one.
    """
    count = words.pop() if words and _COUNT.fullmatch(words[-1]) else None
    if len(words) > 1 or (amount and not amount.endswith(")")):
        return None
    for term in amount.removesuffix(")").split():
        kind, _, text = term.partition(":")
        if kind == "IDX":
            return _parse_indices(text)
        if kind != "CNT":
            return None
        count = text
    return int(count) if count and _COUNT.fullmatch(count) else None


def _parse_indices(text: str) -> set[int] | None:
    """Return the numbers in a list such as 0-3,8; an empty set for "" and "N/A", and None if it is invalid."""
    indices = set[int]()
    for item in text.split(",") if text not in ("", "N/A") else ():
        match = _INDEX.fullmatch(item)
        if not match or not (chips := range(int(match[1]), int(match[2] or match[1]) + 1)):
            return None
        indices.update(chips)
    return indices
