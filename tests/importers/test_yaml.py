"""YAML says what the same JSON does, and no alias, depth, size or coercion gets in."""

from io import BytesIO

import pytest
import yaml
from printed import listed, node, resource_slice, slurm, slurm_node, text, ultraserver

from trninv.importers import input_file
from trninv.importers.input_file import InputFile
from trninv.importers.json_value import ImportErrors
from trninv.importers.records import ObservedRecord, ObservedServer
from trninv.importers.source_register import all_sources
from trninv.importers.yaml_parser import parse_yaml

LISTED = listed(node(), resource_slice(), ultraserver())
BOMB = "---\na: &a [x, x]\nb: &b [*a, *a]\nnodes: [*b, *b]\n"


def read(kind: str, content: bytes) -> tuple[list[ObservedRecord], list[str]]:
    faults = ImportErrors()
    return list(all_sources()[kind].read(InputFile(BytesIO(content), "f", faults))), faults.messages


@pytest.mark.parametrize("flow", [False, None])
@pytest.mark.parametrize(
    ("kind", "document"),
    [("kubernetes", LISTED), ("slurm", slurm(slurm_node("h0"))), ("slurm", slurm(slurm_node("h0", old=True)))],
)
def test_yaml_says_what_json_does(kind: str, document: object, flow: bool | None) -> None:
    as_yaml = yaml.safe_dump(document, default_flow_style=flow, version=(1, 1) if kind == "slurm" else None)
    (seen, faults), (expected, _) = read(kind, as_yaml.encode()), read(kind, text(document))
    assert (len(seen), faults) == (len(expected), [])
    for one, other in zip(seen, expected, strict=True):
        for name in type(other).__dataclass_fields__.keys() - {"where"}:
            assert getattr(one, name) == getattr(other, name)


def test_several_documents_are_read_and_a_fault_has_its_line() -> None:
    several = yaml.safe_dump_all([node("a"), node("b") | {"kind": "Pod"}, None])
    seen, (fault,) = read("kubernetes", several.encode())
    assert [each.host for each in seen if isinstance(each, ObservedServer)] == ["a"]
    line = several[: several.index("---")].count("\n") + 2
    assert fault == f"f:{line}: is not a List, Node, ResourceSlice, DeviceTaintRule or NeuronUltraServer"


def test_words_are_text_unless_json_has_them() -> None:
    given = (
        'no: NO\non: on\ntime: 1:30\noctal: 010\nday: 2026-01-01\ntrue: true\nnone: ~\nsome: -7\npart: 1.5\nsaid: "7"\n'
    )
    ((_, found),) = parse_yaml(f"{given}big: 1e999\nhere: !!str 7\nis: !!int 7\n".encode())
    assert found == {
        "no": "NO",
        "on": "on",
        "time": "1:30",
        "octal": "010",
        "day": "2026-01-01",
        "true": True,
        "none": None,
        "some": -7,
        "part": 1.5,
        "said": "7",
        "big": "1e999",
        "here": "7",
        "is": 7,
    }


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (BOMB, "f:3:8: has an alias; write its value out"),
        ("nodes:\n- <<: *x\n", "f:2:7: has an alias; write its value out"),
        ("---\n" + "- " * 101 + "x", "f:2:201: is nested too deeply"),
        ("---\n" + "[" * 100_000, "f:2:101: is nested too deeply"),
        ("nodes: 1\nnodes: 2\n", "f:2:1: has the key 'nodes' twice in one object"),
        (
            "nodes: !!python/object/apply:os.system [x]\n",
            "f:1:8: has the tag 'tag:yaml.org,2002:python/object/apply:os.system'; ",
        ),
        (f"nodes:\n  {'k' * 257}: 1\n", "f:2:3: has a key of more than 256 characters"),
        ("nodes: !x y\n", "f:1:8: has the tag '!x'; remove the tag"),
        ("nodes: 9223372036854775808\n", "f:1:8: has a whole number of 19 digits; at most 63 bits are allowed"),
        (f"nodes: {'9' * 5_000}\n", "f:1:8: has a whole number of 5,000 digits; at most 63 bits are allowed"),
        ("nodes:\n- [a: {\n", "f:3:1: is not YAML: "),
        ("nodes: \x07\n", "f: is not YAML: it has control characters"),
        ("---\n? [a]\n: b\n", "f:2:3: has a key that is not a string"),
        ("---\n", "f: is empty"),
    ],
)
def test_what_is_not_plain_yaml_is_refused_with_its_place(content: str, fault: str) -> None:
    seen, (told,) = read("slurm", content.encode())
    assert seen == []
    assert told.startswith(fault)


def test_a_large_document_is_refused_before_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(input_file, "MAX_MEMORY", 1 << 20)
    (fault,) = read("slurm", b"nodes:\n" + b"- - - x\n" * 4_000)[1]
    assert fault == "f: is a document of more than 1 MiB of values; write one item per line"
