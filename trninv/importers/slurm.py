"""Slurm's nodes: ``scontrol show nodes --json`` (from 23.02), ``sinfo --json`` (22.05), ``scontrol -o show node``.

Either may write ``--yaml`` as well.
"""

import re
from collections.abc import Iterable, Iterator

from trninv.importers.observed import Seen, Server
from trninv.importers.reading import Source
from trninv.importers.value import Value

_AS_VALUES = b"{", b"---", b"%YAML", b"nodes:", b"meta:"
"""How JSON and YAML begin."""
EXPECTED = {"chip_count": "gres neuron"}
_DOWN = {"DOWN", "FAIL", "FAILING", "NOT_RESPONDING", "NO_RESPOND", "POWERED_DOWN", "POWER_DOWN"}
_OUT = {"DRAIN", "DRAINED", "DRAINING", "MAINT", "MAINTENANCE"}
_CHIPS = re.compile(r"\bneuron(?::[^:,()]+)?:(\d{1,4})\b")
_FIELD = re.compile(
    r"(?:^|\s)(NodeName|State|Gres|InstanceId|InstanceType|Reason|Comment)=(.*?)(?=\s+[A-Z][A-Za-z]+=|$)"
)


def read(source: Source) -> Iterator[Seen]:
    """The nodes of a file."""
    if not any(map(source.begins_with, _AS_VALUES)):
        yield from _of_text(source)
        return
    for value in source.yaml_or_json():
        if not isinstance(value.get("nodes").of, list):
            value.fault("has no list nodes")
        for node in value.get("nodes").objects():
            words = [*_words(node.get("state")), *_words(node.get("state_flags"))]
            yield from _server(node, node.get("name"), node.get("instance_id"), node.get("instance_type"), words)


def _of_text(source: Source) -> Iterator[Seen]:
    for number, line in source.texts():
        fields = {name: text for name, text in _FIELD.findall(line) if text not in ("(null)", "N/A")}
        if "NodeName" not in fields:
            source.fault("is no line of scontrol -o show node", number)
            continue
        node = source.value({name.lower(): text for name, text in fields.items()}, number)
        words = _words(node.get("state"))
        yield from _server(node, node.get("nodename"), node.get("instanceid"), node.get("instancetype"), words)


def _words(value: Value) -> Iterable[str]:
    return value.names() or () if isinstance(value.of, list) else (value.as_text() or "").split("+")


def _server(node: Value, name: Value, instance: Value, kind: Value, words: Iterable[str]) -> Iterator[Server]:
    host, given = name.as_name(), {word.strip("*~#!%$@^-").upper() for word in words}
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
