"""Read Slurm's nodes from ``scontrol show nodes --json``, ``sinfo --json`` or ``scontrol show node``.

The first needs Slurm 23.02, the second 22.05; both may also use ``--yaml``. ``scontrol show node`` may print one line
per node (``-o``) or several.
"""

import re
from collections.abc import Collection, Iterator

from trninv.importers.input_file import InputFile
from trninv.importers.json_value import JsonValue
from trninv.importers.list_response import read_items
from trninv.importers.records import BLOCK_KEY, InstanceListing, ObservedRecord, ObservedServer
from trninv.importers.source_declaration import SourceDeclaration

_STRUCTURED_PREFIXES = b"{", b"---", b"%YAML", b"nodes:", b"meta:"
"""Prefixes of JSON and YAML files."""
EXPECTED = {"chip_count": "gres neuron"}
"""Fields of a server that this source should report, with their names in the source."""
_DOWN = {"DOWN", "FAIL", "FAILING", "NOT_RESPONDING", "NO_RESPOND", "POWERED_DOWN", "POWER_DOWN"}
_MAINTENANCE = {"DRAIN", "DRAINED", "DRAINING", "MAINT", "MAINTENANCE"}
_STATE_SUFFIXES = {"*": "NOT_RESPONDING", "~": "POWERED_DOWN", "$": "MAINT"}
"""The meaning of the suffixes of a state in text, such as IDLE*; other suffixes are dropped."""
_MAX_LINES = 128
"""The maximum number of lines of one node in text."""
_GRES_CHIPS = re.compile(r"\bneuron(?::[^:,()]+)?:(\d{1,4})\b")
_FIELD = re.compile(
    r"(?:^|\s)(NodeName|State|Gres|InstanceId|InstanceType|Reason|Comment)=(.*?)(?=\s+[A-Z][A-Za-z]+=|$)"
)


def read(source: InputFile) -> Iterator[ObservedRecord]:
    """Yield the nodes in a file as servers, then a marker, so that an import can refuse a list without nodes."""
    if not any(map(source.starts_with, _STRUCTURED_PREFIXES)):
        yield from _read_text(source)
        yield InstanceListing()
        return
    for value in source.yaml_or_json():
        for node in read_items(value, "nodes"):
            words = [*_state_words(node.get("state")), *_state_words(node.get("state_flags"))]
            yield from _build_server(node, node.get("name"), node.get("instance_id"), node.get("instance_type"), words)
        yield InstanceListing()


def _read_text(source: InputFile) -> Iterator[ObservedServer]:
    for number, line in _join_node_lines(source):
        # the first value of a name must win, because a reason may contain NAME=VALUE
        matches = reversed(_FIELD.findall(line))
        fields = {name.lower(): text for name, text in matches if text not in ("(null)", "N/A")}
        if "nodename" not in fields:
            source.add_error("is not a node as scontrol show node prints it", number)
            continue
        node = source.wrap(fields, number)
        words = _state_words(node.get("state"))
        yield from _build_server(node, node.get("nodename"), node.get("instanceid"), node.get("instancetype"), words)


def _join_node_lines(source: InputFile) -> Iterator[tuple[int, str]]:
    """Join the lines of each node, with the first line's number; without -o, a node's other lines are indented."""
    first, lines = 0, list[str]()
    for number, line in source.text_lines():
        is_continuation = lines and line[:1].isspace() and not line.lstrip().startswith("NodeName=")
        if is_continuation and len(lines) == _MAX_LINES:
            source.add_error(f"is a node of more than {_MAX_LINES} lines", first)
        elif is_continuation:
            lines.append(line)
        else:
            if lines:
                yield first, " ".join(" ".join(lines).split())
            first, lines = number, [line]
    if lines:
        yield first, " ".join(" ".join(lines).split())


def _state_words(value: JsonValue) -> Collection[str]:
    """Return the states of a node, from a list or from text such as IDLE+DRAIN."""
    return value.names() or () if isinstance(value.raw, list) else (value.as_text() or "").split("+")


def _build_server(
    node: JsonValue, name: JsonValue, instance: JsonValue, instance_type: JsonValue, words: Collection[str]
) -> Iterator[ObservedServer]:
    """Yield the server of a node; states and values whose keys depend on the output format are arguments."""
    host, states = name.as_name(), {word.strip("*~#!%$@^-").upper() for word in words}
    states |= {_STATE_SUFFIXES[suffix] for word in words for suffix in word if suffix in _STATE_SUFFIXES}
    chips = _GRES_CHIPS.search(node.get("gres").as_text() or "")
    if host is None:
        node.add_error("names no node")
        return
    yield ObservedServer(
        where=node.where,
        instance=instance.as_name(),
        host=host,
        instance_type=instance_type.as_name(),
        state="down" if states & _DOWN else "maintenance" if states & _MAINTENANCE else "up",
        reason=node.get("reason").as_text(),
        chip_count=int(chips[1]) if chips else None,
        scheduler_block=node.get(BLOCK_KEY).as_name(),
        expected=EXPECTED,
    )


SOURCE = SourceDeclaration(
    name="slurm",
    title="Slurm",
    commands="`scontrol show nodes` or `sinfo` with `--json` or `--yaml`; `scontrol show node` with or without `-o`",
    content="its state and the reason",
    read=read,
    expected=EXPECTED,
    is_manager=True,
    host_name_rank=2,
    is_scheduler=True,
)
