"""Slurm's jobs: ``squeue --json`` and, from 23.02, ``scontrol show job --json``; or their ``jobs``, one a line.

Either may write ``--yaml`` as well.

Which chips of its nodes a job holds is said by ``gres_detail``, where gres.conf gives each device a file
(``neuron:trainium2:4(IDX:0-3)``). Without files it says how many (``neuron:trainium2(CNT:4)``).
"""

import re
from collections.abc import Iterator
from typing import Final

from trninv.errors import UsageError
from trninv.hostlist import expanded
from trninv.importers.answer import items
from trninv.importers.held import Held, Part, at, called
from trninv.importers.reading import Source
from trninv.importers.value import Value, shown

_HOLDS: Final = {"RUNNING", "SUSPENDED", "COMPLETING", "CONFIGURING", "RESIZING", "SIGNALING", "STAGE_OUT", "STOPPED"}
_COMMA = re.compile(r",(?![^(]*\))")
"""One that is not in brackets."""
_COUNT = re.compile(r"\d{1,4}", re.ASCII)
_INDEX = re.compile(r"(\d{1,4})(?:-(\d{1,4}))?", re.ASCII)
_LAST = 2**33
"""A second of Unix that is far ahead: past the year 2200."""


def read(source: Source) -> Iterator[Held]:
    """The jobs of a file that hold nodes."""
    for value in source.yaml_or_json():
        if value.get("job_id").of is not None:
            yield from _job(value)
        elif isinstance(value.of, dict) and "jobs" in value.of:
            for job in items(value, "jobs"):
                yield from _job(job)
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
    given = details.of if details.of is not None and details.is_a(list, "a list") else []
    for number, host in enumerate(hosts):
        detail = Value(given[number] if number < len(given) else None, details.faults, details, number)
        text = detail.as_text()
        yield Part(host) if text is None else _part(host, detail, text)


def _part(host: str, detail: Value, text: str) -> Part:
    """All that it holds of a host; where not every type says which chips, only how many."""
    chips, count, is_named = set[int](), 0, True
    for entry in _COMMA.split(text):
        name, _, amount = entry.removeprefix("gres/").partition("(")
        if name.partition(":")[0] != "neuron":
            continue
        found = _amount(name.split(":")[1:], amount)
        if found is None:
            detail.fault(f"{shown(entry)} does not say which chips, or how many: neuron:4(IDX:0-3) or neuron(CNT:4)")
        elif isinstance(found, int):
            count, is_named = count + found, False
        else:
            chips |= found
    return Part(host, tuple(sorted(chips))) if chips and is_named else Part(host, count=count + len(chips))


def _amount(words: list[str], amount: str) -> set[int] | int | None:
    """Which chips an entry names, else how many; None if it has anything else."""
    count = words.pop() if words and _COUNT.fullmatch(words[-1]) else None
    if len(words) > 1 or (amount and not amount.endswith(")")):
        return None
    for each in amount.removesuffix(")").split():
        kind, _, said = each.partition(":")
        if kind == "IDX":
            return _indices(said)
        if kind != "CNT":
            return None
        count = said
    return int(count) if count and _COUNT.fullmatch(count) else None


def _indices(text: str) -> set[int] | None:
    found = set[int]()
    for each in text.split(",") if text not in ("", "N/A") else ():
        match = _INDEX.fullmatch(each)
        if not match or not (chips := range(int(match[1]), int(match[2] or match[1]) + 1)):
            return None
        found.update(chips)
    return found
