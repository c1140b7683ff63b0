"""Slurm's nodes: ``scontrol show nodes --json`` (from 23.02), ``sinfo --json`` (22.05), ``scontrol show node``.

The first two may write ``--yaml`` as well, the last may have a line a node (``-o``) or many.
"""

import re
from collections.abc import Collection, Iterator

from trninv.importers.answer import items
from trninv.importers.observed import Listing, Seen, Server
from trninv.importers.reading import Source
from trninv.importers.value import Value

_AS_VALUES = b"{", b"---", b"%YAML", b"nodes:", b"meta:"
"""How JSON and YAML begin."""
EXPECTED = {"chip_count": "gres neuron"}
_DOWN = {"DOWN", "FAIL", "FAILING", "NOT_RESPONDING", "NO_RESPOND", "POWERED_DOWN", "POWER_DOWN"}
_OUT = {"DRAIN", "DRAINED", "DRAINING", "MAINT", "MAINTENANCE"}
_MARKS = {"*": "NOT_RESPONDING", "~": "POWERED_DOWN", "$": "MAINT"}
"""What follows a state in text, as in IDLE*."""
_MOST_LINES = 128
_CHIPS = re.compile(r"\bneuron(?::[^:,()]+)?:(\d{1,4})\b")
_FIELD = re.compile(
    r"(?:^|\s)(NodeName|State|Gres|InstanceId|InstanceType|Reason|Comment)=(.*?)(?=\s+[A-Z][A-Za-z]+=|$)"
)


def read(source: Source) -> Iterator[Seen]:
    """The nodes of a file."""
    if not any(map(source.begins_with, _AS_VALUES)):
        yield from _of_text(source)
        yield Listing()
        return
    for value in source.yaml_or_json():
        for node in items(value, "nodes"):
            words = [*_words(node.get("state")), *_words(node.get("state_flags"))]
            yield from _server(node, node.get("name"), node.get("instance_id"), node.get("instance_type"), words)
        yield Listing()


def _of_text(source: Source) -> Iterator[Server]:
    for number, line in _nodes(source):
        found = reversed(_FIELD.findall(line))  # the first counts: a reason may have any text in it
        fields = {name.lower(): text for name, text in found if text not in ("(null)", "N/A")}
        if "nodename" not in fields:
            source.fault("is no node of scontrol show node", number)
            continue
        node = source.value(fields, number)
        words = _words(node.get("state"))
        yield from _server(node, node.get("nodename"), node.get("instanceid"), node.get("instancetype"), words)


def _nodes(source: Source) -> Iterator[tuple[int, str]]:
    """Yield each node as one line, with the number of its first: without -o, the others are indented."""
    first, lines = 0, list[str]()
    for number, line in source.texts():
        is_next = lines and line[:1].isspace() and not line.lstrip().startswith("NodeName=")
        if is_next and len(lines) == _MOST_LINES:
            source.fault(f"is a node of more than {_MOST_LINES} lines", first)
        elif is_next:
            lines.append(line)
        else:
            if lines:
                yield first, " ".join(" ".join(lines).split())
            first, lines = number, [line]
    if lines:
        yield first, " ".join(" ".join(lines).split())


def _words(value: Value) -> Collection[str]:
    return value.names() or () if isinstance(value.of, list) else (value.as_text() or "").split("+")


def _server(node: Value, name: Value, instance: Value, kind: Value, words: Collection[str]) -> Iterator[Server]:
    host, given = name.as_name(), {word.strip("*~#!%$@^-").upper() for word in words}
    given |= {_MARKS[mark] for word in words for mark in word if mark in _MARKS}
    chips = _CHIPS.search(node.get("gres").as_text() or "")
    if host is None:
        node.fault("names no node")
        return
    yield Server(
        where=node.where,
        instance=instance.as_name(),
        host=host,
        instance_type=kind.as_name(),
        state="down" if given & _DOWN else "maintenance" if given & _OUT else "up",
        reason=node.get("reason").as_text(),
        chip_count=int(chips[1]) if chips else None,
        expected=EXPECTED,
    )
