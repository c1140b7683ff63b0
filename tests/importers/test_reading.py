"""What is not as it should be is named with its place, whatever it is; nothing is guessed, and nothing is a trace."""

import gzip
import itertools
import json
import random
import re
from collections import Counter
from io import BytesIO
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st
from printed import (
    SAMPLES,
    instances,
    listed,
    neuron_ls,
    node,
    slurm,
    slurm_node,
    text,
)
from spoiling import spoilt
from sqlalchemy import func, select

from conftest import BACKENDS, Databases
from trninv.database.engine import temporary_engine, write_transaction
from trninv.database.tables import TABLES
from trninv.errors import InvalidArgumentError, InvalidFileError
from trninv.importers import input_file, json_value
from trninv.importers.ingestion import ImportFile, import_files
from trninv.importers.input_file import InputFile, JsonError, parse_json
from trninv.importers.json_value import ImportErrors
from trninv.importers.records import ObservedServer
from trninv.importers.source_register import all_sources

pytestmark = pytest.mark.slow_on_postgresql


def faults_of(kind: str, content: bytes) -> list[str]:
    faults = ImportErrors()
    for _ in all_sources()[kind].read(InputFile(BytesIO(content), "f.json", faults)):
        pass
    return faults.messages


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"", "f.json: is empty"),
        (b"\n \n", "f.json: is empty"),
        (b"[\n{]", "f.json:2:2: is not JSON: expecting property name enclosed in double quotes"),
        (b"[]\nlogin: banner\n", "f.json:2:1: is not JSON: expecting value"),
        (b"[" * 100_000, "f.json: is nested too deeply"),
        (b'[{"bdf":"a","bdf":"b"}]', "f.json: has the key 'bdf' twice in one object"),
        (b'[{"' + b"k" * 257 + b'":1}]', "f.json: has a key of more than 256 characters"),
        (b'[{"memory_size":NaN}]', "f.json: has NaN, which is not JSON"),
        (b'[{"memory_size":-Infinity}]', "f.json: has -Infinity, which is not JSON"),
        (b'[{"memory_size":1e999}]', "f.json: has the number '1e999', which is too large"),
        (b'[{"a":' + b"9" * 4_301 + b"}]", "f.json: has a whole number of 4,301 digits; at most 63 bits are allowed"),
        (b'[{"a":9223372036854775808}]', "f.json: has a whole number of 19 digits; at most 63 bits are allowed"),
        (b'[{"a":-9223372036854775808}]', "f.json: has a whole number of 20 digits; at most 63 bits are allowed"),
        (b"\xff[]", "f.json: is not UTF-8 at byte 1"),
        (b"{}", "f.json:1: has no list of devices"),
        (b'{"neuron_ls":null}', "f.json:1.neuron_ls: is None, not neuron-ls's list of devices"),
        (b'{"devices":[]}', "f.json:1: has no list of devices"),
        (b'{"devices":[{"neuron_device":0},3]}', "f.json:1: has no list of devices"),
        (
            b'{"a":[{"neuron_device":0}],"b":[{"neuron_device":1}]}',
            "f.json:1: lists devices under 'a' and 'b'; only one list is supported",
        ),
        (b'{"devices":[{"id":0}]}', "f.json:1.devices[0]: has no neuron_device"),
        (
            b'{"instance_id":"i-a","devices":[{"neuron_device":0,"instance_id":"i-b"}]}',
            "f.json:1.devices[0].instance_id: is 'i-b', but 'i-a' outside the list of devices",
        ),
        (
            b'{"instance_id":["i-a"],"d":[{"neuron_device":0}]}',
            "f.json:1.d[0].instance_id: is a list, not text of up to 4,096 characters",
        ),
        (b'{"' + b"k" * 10_000 + b'":1}', "f.json: has a key of more than 256 characters"),
        (b"3", "f.json:1: is 3, not neuron-ls's list of devices"),
        (b"[3]", "f.json:1[0]: is 3, not an object"),
        (b"[]", "f.json:1: lists no devices"),
        (b'[{"neuron_device":true}]', "f.json:1[0].neuron_device: is True, not a whole number from 0 to 127"),
        (
            b'[{"neuron_device":1},{"neuron_device":true}]',
            "f.json:1[1].neuron_device: is True, not a whole number from 0 to 127",
        ),
        (
            b'[{"neuron_device":0,"bdf":"\\ud800"}]',
            "f.json:1[0].bdf: is '\\ud800', which has character 0 or half of a surrogate pair; remove it",
        ),
        (
            b'[{"neuron_device":0,"connected_to":[128]}]',
            "f.json:1[0].connected_to[0]: is 128, not a whole number from 0 to 127",
        ),
        (b'[{"neuron_device":0,"connected_to":{}}]', "f.json:1[0].connected_to: is an object, not a list"),
        (b'[{"neuron_device":0,"bdf":"x"}]', "f.json:1[0].bdf: is 'x', not a PCI address such as 0000:cc:00.0"),
        (
            b'[{"neuron_device":0,"memory_size":1.5}]',
            "f.json:1[0].memory_size: is 1.5, not a whole number from 0 to 9,223,372,036,854,775,807",
        ),
        (b'[{"neuron_device":0},{"neuron_device":0}]', "f.json:1: lists a device twice, or more than 128"),
        (
            (
                b'[{"neuron_device":0,"bdf":"cc:00.0","instance_type":"trn2.48xlarge"},'
                b'{"neuron_device":1,"bdf":"cc:00.0","instance_type":"trn2.48xlarge"}]'
            ),
            "f.json:1: lists two devices that are chip 0 of the host by their PCI addresses",
        ),
        (b'[{"neuron_device":0,"numa_node":"x"}]', "f.json:1[0].numa_node: is 'x', not a whole number from 0 to 128"),
    ],
)
def test_a_fault_is_told_with_its_place(content: bytes, fault: str) -> None:
    assert fault in faults_of("neuron-ls", content)


@pytest.mark.parametrize("name", ["a b", "a\nSwitchName=x", "a\x1b[31m", "a\u202eb", "a" * 254, "a\0", "\ud800"])
def test_a_name_that_could_be_taken_for_something_else_is_a_fault(name: str) -> None:
    (fault,) = faults_of("slurm", text(slurm(slurm_node() | {"instance_id": name})))
    assert fault.startswith("f.json:1.nodes[0].instance_id: is ")
    assert fault.isprintable()


def test_two_instances_in_one_listing_are_a_fault() -> None:
    (fault,) = faults_of("neuron-ls", text([*neuron_ls("i-a", chips=[0]), *neuron_ls("i-b", chips=[1])]))
    assert fault == "f.json:1[0].instance_id: differs between devices: i-a and i-b"


@pytest.mark.parametrize(
    ("kind", "content", "fault"),
    [
        (
            "ec2",
            b'{"instances":[]}',
            "f.json:1: has none of Reservations, Instances, CapacityReservations, CapacityBlockStatuses",
        ),
        ("ec2", b'{"Instances":[{}]}', "f.json:1.Instances[0]: has no InstanceId"),
        (
            "ec2",
            b'{"CapacityBlockStatuses":[{"CapacityBlockId":"cb","InterconnectStatus":"?"}]}',
            "f.json:1.CapacityBlockStatuses[0].InterconnectStatus: is not ok, impaired or insufficient-data",
        ),
        (
            "kubernetes",
            b'{"kind":"Pod"}',
            "f.json:1: is not a List, Node, ResourceSlice, DeviceTaintRule or NeuronUltraServer",
        ),
        ("kubernetes", b'{"kind":"Node"}', "f.json:1: has no metadata.name"),
        ("kubernetes", b"a: &a [*a, *a]\n", "f.json:1:8: has an alias; write its value out"),
        ("slurm", b"{}", "f.json:1: has no list nodes"),
        ("slurm", b"slurm_load_node error\n", "f.json:1: is not a node as scontrol show node prints it"),
        ("neuron-monitor", b"{", "f.json:1:2: is not JSON: expecting property name enclosed in double quotes"),
        ("neuron-monitor", b'{\n"instance_info":\n}', "f.json:3:1: is not JSON: expecting value"),
        ("neuron-monitor", b'{"a":1}\n{"a":2]\n', "f.json:2:7: is not JSON: expecting ',' delimiter"),
        ("neuron-monitor", b'{"a":1}\nbanner\n', "f.json:2:1: is not JSON: expecting value"),
        ("neuron-monitor", b"banner\n}\n", "f.json:2:1: is not JSON: expecting value"),
        *(
            ("neuron-monitor", content, "f.json:1: has none of instance_info, neuron_hardware_info, system_data")
            for content in (b"[3]", b"3", b"{}", b'{"neuron_runtime_data":[]}')
        ),
        ("neuron-sysfs", b"hello\n", "f.json:1: is not PATH:VALUE"),
        ("neuron-sysfs", b"# host: h0\n", "f.json: has no line of the Neuron driver"),
        ("hyperpod", b"{}", "f.json:1: has no list ClusterNodeSummaries"),
    ],
)
def test_what_is_no_output_of_the_program_is_told(kind: str, content: bytes, fault: str) -> None:
    assert fault in faults_of(kind, content)


def test_a_document_of_many_lines_is_read_as_one_of_a_line() -> None:
    document = text(neuron_ls())
    spread = json.dumps(neuron_ls(), indent=1).encode()
    for content in (document, spread, gzip.compress(spread)):
        assert faults_of("neuron-ls", content) == []


def test_limits_hold_before_anything_is_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(input_file, "MAX_LINE", 1_000)
    monkeypatch.setattr(input_file, "MAX_DOCUMENT", 5_000)
    assert faults_of("neuron-ls", b"[" + b" " * 6_000) == [
        "f.json: is a document of more than 0 MiB; write one item per line"
    ]
    long = b"[]\n[" + b" " * 2_000 + b"]\n[]\n"
    assert faults_of("neuron-ls", long)[1] == "f.json:2: is a line of more than 1,000 bytes"


@pytest.mark.slow
def test_no_more_of_all_files_is_read_at_once_than_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_value, "MAX_TOTAL_BYTES", 2 << 20)
    bomb = gzip.compress(b"[" + b"\n" * 10_000_000)
    with pytest.raises(InvalidFileError) as error:
        faults_of("neuron-ls", bomb)
    assert error.value.errors == ["f.json: exceeds 2 MiB, the limit of one import; import it in parts"]
    faults, page = ImportErrors(), text(listed(node())) + b" " * (1 << 19)
    read = [list(all_sources()["kubernetes"].read(InputFile(BytesIO(page), f"f{at}", faults))) for at in range(3)]
    assert [len(seen) for seen in read] == [len(read[0])] * 3
    with pytest.raises(InvalidFileError):
        list(all_sources()["kubernetes"].read(InputFile(BytesIO(page), "f3", faults)))
    assert [fault.partition(":")[0] for fault in faults.messages] == ["f3"]


@pytest.mark.parametrize("item", [b"[],", b"{},", b"1,", b'{"a":1},'])
def test_a_document_whose_values_take_much_memory_is_refused_before_it_is_parsed(
    monkeypatch: pytest.MonkeyPatch, item: bytes
) -> None:
    content = b"[" + item * (24_000_000 // len(item)) + b"1\n]"
    monkeypatch.setattr(input_file, "parse_json", Mock(side_effect=[JsonError("is not whole")]))
    assert faults_of("neuron-ls", content) == [
        "f.json: is a document of more than 512 MiB of values; write one item per line"
    ]


def test_large_documents_of_real_programs_are_read() -> None:
    """60 MiB of instances, as aws prints them, take less than half of what is allowed."""
    page = json.dumps(instances("i-0a")["Reservations"][0], indent=4).encode()
    assert (input_file.MAX_DOCUMENT / len(page)) * input_file._estimate_memory(page) < input_file.MAX_MEMORY


def test_what_cannot_be_unpacked_is_told() -> None:
    (fault, *_) = faults_of("neuron-ls", gzip.compress(text(neuron_ls()))[:-9])
    assert fault.startswith("f.json: cannot be unpacked: ")


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-(2**63) + 1, 2**63 - 1) | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_json_is_read_as_everybody_does(value: object) -> None:
    assert parse_json(json.dumps(value).encode()) == value
    assert parse_json(json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()) == value


@pytest.mark.parametrize(
    "compact",
    [
        b'{"a":1,"a":1}',
        b'{"a":{"b":[],"b":[]}}',
        b'{"%s":1}' % (b"k" * 257),
        rb'{"%s\"%s":1}' % (b"k" * 200, b"k" * 200),
        b"9223372036854775808",
        b"-9223372036854775808",
        b'{"a":9223372036854775808}',
        b'{"a":-9223372036854775808}',
        b"[9223372036854775808]",
        b"[-9223372036854775808]",
        b"[1,9223372036854775808]",
        b"[1,-9223372036854775808]",
        b"[NaN]",
        b"[1e999]",
        b'["a\n"]',
        b'["\xff"]',
        b"[" * 2_000 + b"]" * 2_000,
    ],
    ids=lambda compact: str(compact[:30]),
)
def test_compact_json_is_refused_for_the_same_reasons_as_other_json(compact: bytes) -> None:
    def reason(text: bytes) -> str:
        with pytest.raises(JsonError) as error:
            parse_json(text)
        return re.sub(r"\d+", "N", error.value.message)

    assert reason(compact) == reason(b" " + compact)


@pytest.mark.parametrize("indent", [b"", b" "])
@pytest.mark.parametrize(("start", "end"), [(b"[", b"]"), (b'{"a":', b"}")])
def test_json_is_nested_500_deep(start: bytes, end: bytes, indent: bytes) -> None:
    assert parse_json(indent + start * 500 + b"1" + end * 500)
    with pytest.raises(JsonError, match="nested too deeply"):
        parse_json(indent + start * 501 + b"1" + end * 501)


def test_escaped_quotes_take_linear_time() -> None:
    """A search that began at every quote would take hours."""
    value = {"quotes": '"' * 1_000_000, "more": ['\\"' * 1_000, '":' * 1_000]}
    assert parse_json(json.dumps(value, separators=(",", ":")).encode()) == value


def test_a_key_of_256_characters_and_long_values_are_read() -> None:
    value = {"k" * 256: "v" * 3_000}
    assert parse_json(json.dumps(value, separators=(",", ":")).encode()) == value


@pytest.mark.parametrize("seeds", [range(50), pytest.param(range(50, 800), marks=pytest.mark.slow)])
def test_a_spoilt_file_has_faults_or_servers_and_no_trace(seeds: range) -> None:
    for seed, (kind, samples) in itertools.product(seeds, SAMPLES.items()):
        dice = random.Random(seed)
        content = spoilt(text(dice.choice(samples)), dice)
        faults = ImportErrors()
        for each in all_sources()[kind].read(InputFile(BytesIO(content), "f", faults)):
            if isinstance(each, ObservedServer):
                names = (each.instance, each.host, each.instance_type)
                assert all(name is None or name.isprintable() for name in names), seed
                assert all(0 <= chip.ordinal < 128 for chip in each.chips), seed
        assert all(fault.startswith("f") for fault in faults.messages), seed


_MANY = [pytest.param(backend, many, marks=pytest.mark.slow) for backend, many in zip(BACKENDS, (240, 60), strict=True)]


@pytest.mark.parametrize(("backend", "seeds"), [*((backend, 8) for backend in BACKENDS), *_MANY])
def test_a_spoilt_file_is_kept_whole_or_not_at_all(databases: Databases, backend: str, seeds: int) -> None:
    """Seven kinds: with 240 seeds some 1,700 spoilt files, each beside a sound one."""
    observation = TABLES["observation"]
    kept = [select(func.count()).select_from(table) for table in (observation, TABLES["observed_chip"])]
    became = Counter[bool]()
    with temporary_engine(databases.migrated(backend)) as engine, write_transaction(engine) as connection:
        rows = [0, 0, 0]
        for seed, (kind, samples) in itertools.product(range(seeds), SAMPLES.items()):
            dice = random.Random(seed)
            files = [text(dice.choice(samples)), spoilt(text(dice.choice(samples)), dice)]
            named = [ImportFile(f"f{at}", BytesIO(each)) for at, each in enumerate(files)]
            all_kept = {"newest": 100 * seeds}  # of each machine
            try:
                observed = import_files(connection, kind, named, trust_host_names=True, **all_kept)
                new = [each for each in observed if not each.is_duplicate]
            except (InvalidFileError, InvalidArgumentError):
                new = []
                became[False] += 1
            else:
                became[True] += 1
            sizes = len(new), sum(each.servers for each in new), sum(each.chips for each in new)
            rows = [one + more for one, more in zip(rows, sizes, strict=True)]
            counted = connection.scalar(select(func.sum(observation.c.servers))) or 0
            assert [connection.scalar(kept[0]), counted, connection.scalar(kept[1])] == rows, seed
    assert min(became[True], became[False]) > 0


def test_escapes_digests_and_long_values_do_not_slow_compact_json(monkeypatch: pytest.MonkeyPatch) -> None:
    value = {"annotation": '{"key": "value"}' * 40, "image": f"sha256:{'0' * 64}", "line": "a\nb\\"}
    monkeypatch.setattr(input_file, "_DECODER", None)
    monkeypatch.setattr(input_file, "_CHECKED_DECODER", None)
    assert parse_json(json.dumps(value, separators=(",", ":")).encode()) == value


def test_compact_json_without_long_strings_is_read_without_a_look_at_each_key(monkeypatch: pytest.MonkeyPatch) -> None:
    value = {'k"\\': ["v" * 256, '"' * 100], "digest": f"sha256:{'0' * 64}"}
    monkeypatch.setattr(input_file, "_SHORT_KEYS", None)
    monkeypatch.setattr(input_file, "_DECODER", None)
    assert parse_json(json.dumps(value, separators=(",", ":")).encode()) == value
