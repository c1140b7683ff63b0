"""Slurm's jobs: ``squeue --json`` and, from 23.02, ``scontrol show job --json``; or their ``jobs``, one a line.

Which chips of its nodes a job holds is said by ``gres_detail``, where gres.conf gives each device a file
(``neuron:trainium2:4(IDX:0-3)``). Without files it says how many (``neuron:trainium2(CNT:4)``).
"""

import re
from collections.abc import Iterator
from typing import Final

from trninv.errors import UsageError
from trninv.hostlist import expanded
from trninv.importers.held import Held, Part, at, called
from trninv.importers.reading import Source
from trninv.importers.value import Value

_HOLDS: Final = {"RUNNING", "SUSPENDED", "COMPLETING", "CONFIGURING", "RESIZING", "SIGNALING", "STAGE_OUT", "STOPPED"}
_NEURON = re.compile(r"(?:^|,|/)neuron(?::[A-Za-z_]\w*)?(?::(\d{1,4}))?(?:\(([^)]*)\))?")
_INDEX = re.compile(r"(\d{1,4})(?:-(\d{1,4}))?", re.ASCII)
_LAST = 2**33
"""A second of Unix that is far ahead: past the year 2200."""


def read(source: Source) -> Iterator[Held]:
    """The jobs of a file that hold nodes."""
    for value in source.values():
        if isinstance(value.get("jobs").of, list):
            for job in value.get("jobs").objects():
                yield from _job(job)
        elif value.get("job_id").of is not None:
            yield from _job(value)
        else:
            value.fault("has no list jobs, and no job_id: write it with squeue --json")


def _job(job: Value) -> Iterator[Held]:
    state = job.get("job_state")
    words = state.names() or () if isinstance(state.of, list) else (state.as_text() or "").split()
    identity = job.get("job_id").as_integer()
    if job.get("job_id").of is None:
        job.fault("has no job_id")
    if identity is None or not _HOLDS & {word.upper() for word in words}:
        return
    try:
        hosts = expanded(job.get("nodes").as_text() or "")
    except UsageError as error:
        job.get("nodes").fault(str(error))
        return
    task = job.get("array_task_id").as_integer()
    name = called(job.get("name"), str(identity))
    if task is not None:
        name = f"{name} [{task}]"
    yield Held(
        where=job.where,
        identity=str(identity),
        name=name,
        who=called(job.get("user_name"), "slurm"),
        parts=tuple(_parts(job.get("gres_detail"), hosts)),
        submitted=at(job.get("submit_time").as_integer(_LAST)),
        began=at(job.get("start_time").as_integer(_LAST)),
        priority=job.get("priority").as_integer(),
    )


def _parts(details: Value, hosts: list[str]) -> Iterator[Part]:
    """What it holds of each host: in ``gres_detail`` they come in the order of the nodes."""
    given = details.of if isinstance(details.of, list) else []
    for at_, host in enumerate(hosts):
        text = given[at_] if at_ < len(given) and isinstance(given[at_], str) else ""
        found = _NEURON.search(text)
        if not found:
            yield Part(host, count=0 if text else None)
            continue
        count, chips = found[1], None
        for each in (found[2] or "").split(" "):
            kind, _, said = each.partition(":")
            if kind == "IDX":
                chips = _indices(said)
            elif kind == "CNT":
                count = said
        yield Part(host, chips, int(count) if count and count.isdecimal() else None)


def _indices(text: str) -> tuple[int, ...] | None:
    found: list[int] = []
    for each in text.split(","):
        if not (match := _INDEX.fullmatch(each)):
            return None
        found += range(int(match[1]), int(match[2] or match[1]) + 1)
    return tuple(found)
