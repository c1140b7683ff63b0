"""What nccom-test and tables of transfers say is read, and what contradicts itself is refused with its position."""

import gzip
import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from measuring import ALGORITHM_GB, SIZES, as_text, report, rows, run

from conftest import examples
from trninv.errors import InvalidArgumentError
from trninv.importers.bandwidth_table import read_transfers
from trninv.importers.input_file import InputFile
from trninv.importers.json_value import ImportErrors
from trninv.importers.measured_run import CollectiveTiming, RunDescription, bus_factor, read_operation
from trninv.importers.nccom_test import parse_command, read_report, read_timings

SWEEP = list(zip(SIZES, ALGORITHM_GB["all-gather", "bf16"], strict=True))


def timings(content: bytes, **described: Any) -> tuple[list[CollectiveTiming], list[str]]:
    """The timings of a file, and its errors."""
    errors = ImportErrors()
    report_ = read_report(InputFile(io.BytesIO(content), "x", errors))
    values = run("a/d0/s0", "all-gather") | described
    return list(read_timings(report_, RunDescription.parse(values))), errors.messages


def transfers(content: str) -> tuple[list[tuple[str, str, int, int]], list[str]]:
    errors = ImportErrors()
    read = read_transfers(InputFile(io.BytesIO(content.encode()), "x", errors))
    return [(each.source, each.target, each.size, each.nanoseconds) for each in read], errors.messages


def test_json_and_text_say_the_same() -> None:
    expected = [CollectiveTiming("", "bf16", size, round(size / speed)) for size, speed in SWEEP]
    for content in (
        report("all-gather", "bf16", 64, SWEEP),
        gzip.compress(report("all-gather", "bf16", 64, SWEEP)),
        json.dumps(rows("all-gather", "bf16", 64, SWEEP), indent=1).encode(),
        f"banner\n$ nccom-test -r 64 allg\n{as_text('all-gather', 'bf16', 64, SWEEP)}".encode(),
        as_text("all-gather", "bf16", 64, SWEEP, unit=2**30).encode(),
    ):
        read, errors = timings(content)
        assert errors == []
        assert [(each.data_type, each.size) for each in read] == [(each.data_type, each.size) for each in expected]
        assert [each.nanoseconds for each in read] == pytest.approx([each.nanoseconds for each in expected], rel=1e-3)


def test_whole_microseconds_of_old_versions() -> None:
    text = "size(B) count(elems) type time(us) algbw(GB/s) busbw(GB/s)\n33554432 33554432 uint8 768 40.69 40.69\n"
    read, errors = timings(text.encode(), ranks=2, operation="all-reduce")
    assert (read, errors) == ([CollectiveTiming("x:2", "uint8", 33554432, 768_000)], [])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"busbw(GB/s)": 100.0}, "x:1.results[0]: busbw(GB/s) is 100, but all-gather of 64 ranks makes it 381.4"),
        ({"algbw(GB/s)": 3.8745}, "x:1.results[0]: algbw(GB/s) is 3.8745, but its size over its time is 387.4 GB/s"),
        ({"algbw(GB/s)": "fast"}, "x:1.results[0]: has no numbers algbw(GB/s) and busbw(GB/s)"),
        ({"time:avg(us)": 0}, "x:1.results[0].time:avg(us): is 0, not a number above 0"),
        ({"time:avg(us)": True}, "x:1.results[0].time:avg(us): is True, not a number above 0"),
        ({"time:avg(us)": None}, "x:1.results[0]: has no time:avg(us)"),
        ({"time:avg(us)": 0.01}, "x:1.results[0]: moves 1,073,741,824 bytes in 10 ns, more than 9 TB/s"),
        ({"time:avg(us)": 1e13}, "x:1.results[0]: has no size above 0, or a time of less than 1 ns"),
        ({"size(B)": 0}, "x:1.results[0]: has no size above 0"),
        ({"size(B)": -1}, "x:1.results[0].size(B): is -1, not a whole number"),
        ({"size(B)": None}, "x:1.results[0]: has no size(B)"),
        ({"type": "a b"}, "x:1.results[0].type: is 'a b', not a name"),
    ],
)
def test_contradictions_are_named(change: dict[str, Any], message: str) -> None:
    (row,) = rows("all-gather", "bf16", 64, SWEEP[-1:])
    _, (error, *_) = timings(json.dumps({"results": [row | change]}).encode())
    assert error.startswith(message), error


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n\n",
        b"{}",
        b"[]",
        b'{"results": []}',
        b'{"results": 5}',
        b"[[[[",
        b"\xff\xfe",
        b"size(B) type\n12\n",
        b"{" * 99,
    ],
)
def test_what_is_no_report_is_an_error(content: bytes) -> None:
    read, errors = timings(content)
    assert read == []
    assert errors


@examples(200)
@given(st.binary(max_size=300) | st.text(alphabet='size(B)type0123456789 \n{}[]":,.eE-+', max_size=300).map(str.encode))
def test_any_bytes_are_read_or_refused(content: bytes) -> None:
    for read in (timings(content), transfers(content.decode(errors="replace"))):
        assert all(isinstance(error, str) for error in read[1])


@examples(100)
@given(
    st.sampled_from(["all-gather", "all-reduce", "reduce-scatter"]),
    st.integers(2, 4_096),
    st.lists(st.tuples(st.integers(2**20, 2**36), st.floats(1, 4_000)), min_size=1, max_size=5),
    st.sampled_from([1e9, 2**30]),
)
def test_every_true_sweep_is_read(operation: str, ranks: int, speeds: list[tuple[int, float]], unit: float) -> None:
    text = as_text(operation, "bf16", ranks, speeds, unit).encode()
    read, errors = timings(text, ranks=ranks, operation=operation)
    assert errors == []
    assert [each.size for each in read] == [size for size, _ in speeds]


def test_a_command_line_names_ranks_and_operation() -> None:
    assert parse_command("nccom-test -r 64 -d bf16 -b 1kb allg") == {"ranks": 64, "operation": "all-gather"}
    assert parse_command("x nccom-test --nworkers=8 all_reduce 'open") == {"ranks": 8, "operation": "all-reduce"}
    assert parse_command("nccom-test -r") == {}
    assert parse_command(f"nccom-test -r {'9' * 5000}") == {"ranks": None}
    assert [read_operation(name) for name in ("redsct", "alltoallv", "transfer", "")] == [
        "reduce-scatter",
        "all-to-all",
        None,
        None,
    ]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"hosts": ()}, "add --host"),
        ({"operation": ""}, "add --operation"),
        ({"ranks": None}, "add --ranks"),
        ({"cores_per_rank": None}, "add --cores-per-rank"),
        ({"ranks": 0}, "out of range"),
        ({"ranks": True}, "out of range"),
        ({"ranks": 10**30}, "out of range"),
        ({"ranks": 63, "hosts": ("a/d0/s0", "a/d0/s1")}, "not divided equally"),
        ({"hosts": ("a/d0/s0", "a/d0/s0")}, "twice"),
    ],
)
def test_what_is_not_said_of_a_run_is_asked_for(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        RunDescription.parse(run("a/d0/s0", "all-gather") | change)


def test_bus_factors() -> None:
    assert [float(bus_factor(name, 16)) for name in ("all-gather", "all-reduce", "permute")] == [0.9375, 1.875, 1.0]


def test_transfers() -> None:
    assert transfers("\ufeffto, from,bytes,seconds\nb/d0/s1,@i-0a,1000,0.5\n") == (
        [("@i-0a", "b/d0/s1", 1000, 500_000_000)],
        [],
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "x:1: begins with ''"),
        ("from,to,bytes\n", "x:1: begins with 'from, to, bytes'"),
        ("from,to,bytes,seconds\na,b,1\n", "x:2: has 3 values, not 4"),
        ("from,to,bytes,seconds\na,b,x,1\n", "x:2.bytes: is 'x', not a whole number"),
        ("from,to,bytes,seconds\na,b,1,nan\n", "x:2.seconds: is nan, not a number above 0"),
        ("from,to,bytes,seconds\na,b,1,1e400\n", "x:2.seconds: is inf, not a number above 0"),
        ("from,to,bytes,seconds\na,b,1,1e300\n", "x:2: has no size above 0, or a time"),
        ("from,to,bytes,seconds\n,b,1,1\n", "x:2: needs from and to"),
        ('from,to,bytes,seconds\n"a,b,1,1\n', "x:2: has 1 values, not 4"),
    ],
)
def test_what_is_no_transfer_is_named(content: str, message: str) -> None:
    read, (error, *_) = transfers(content)
    assert read == []
    assert error.startswith(message), error


@pytest.mark.slow
def test_too_many_rows_are_refused() -> None:
    read, errors = timings(b'{"results": [' + b"{}," * 100_000 + b"{}]}")
    assert read == []
    assert errors[0] == "x:1.results: has 100,001 items; at most 100,000 are read"
    _, errors = transfers("from,to,bytes,seconds\n" + "a,b,1,1\n" * 100_001)
    assert errors == ["x:100002: has more than 100,000 transfers; import it in parts"]
