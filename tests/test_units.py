"""Exact quantities: parsed as documents write them, printed so that parsing gives them back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trninv.errors import UnitError
from trninv.units import Bandwidth, Capacity, Compute, Quantity, pluralize

WHOLE = st.integers(min_value=0, max_value=2**63 - 1)


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (Bandwidth, "1,024 GB/sec/device", 1_024 * 10**9),
        (Bandwidth, "820 GiB/sec", 820 * 2**30),
        (Bandwidth, "2.9 TB/sec", 2_900 * 10**9),
        (Bandwidth, "100 Gbps", 12_500_000_000),
        (Bandwidth, "200Gbit/s", 25_000_000_000),
        (Bandwidth, "28,800 Gbps", 3_600 * 10**9),
        (Bandwidth, "2,048 GiB/sec/chip", 2_048 * 2**30),
        (Capacity, "96 GiB", 103_079_215_104),
        (Capacity, "96GB", 96 * 10**9),
        (Capacity, "9 TiB", 9_216 * 2**30),
        (Compute, "52.5 TFLOPS", 52_500),
        (Compute, "11.6 PFLOPS", 11_600_000),
        (Compute, "420 TOPS", 420_000),
        (Compute, "161 PetaFLOPS", 161_000_000),
    ],
)
def test_reads_what_documents_write(kind: type[Quantity], text: str, value: int) -> None:
    assert kind.parse(text) == value


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (Bandwidth, "5"),
        (Bandwidth, "GB/s"),
        (Bandwidth, "-5 GB/s"),
        (Bandwidth, "5 GB"),
        (Bandwidth, "5 gb/s"),
        (Bandwidth, "1,02 GB/s"),
        (Bandwidth, "1e3 GB/s"),
        (Bandwidth, "٣ GB/s"),
        (Bandwidth, "0.5 B/s"),
        (Bandwidth, "9" * 30 + " GB/s"),
        (Capacity, "5 GB/s"),
        (Capacity, "nan GiB"),
        (Compute, "5 FLOPS"),
        (Compute, ""),
    ],
)
def test_refuses_a_wrong_or_missing_unit(kind: type[Quantity], text: str) -> None:
    with pytest.raises(UnitError) as error:
        kind.parse(text)
    assert repr(text) in str(error.value)


@pytest.mark.parametrize("kind", [Bandwidth, Capacity, Compute])
def test_what_is_too_long_for_a_number_is_refused_in_few_words(kind: type[Quantity]) -> None:
    for text in (f"{'9' * 5_000} GB/s", f"1.{'0' * 5_000} GiB", "x" * 5_000):
        with pytest.raises(UnitError, match="is not a") as error:
            kind.parse(text)
        assert len(str(error.value)) < 400


def test_an_error_names_the_accepted_units() -> None:
    with pytest.raises(UnitError, match=r"GB/s, TB/s, .*GiB/s.*Gbps"):
        Bandwidth.parse("5 furlongs")


@pytest.mark.parametrize("kind", [Bandwidth, Capacity, Compute])
@given(value=WHOLE)
def test_printing_round_trips(kind: type[Quantity], value: int) -> None:
    assert kind.parse(str(kind(value))) == value


@pytest.mark.parametrize(
    ("quantity", "text"),
    [
        (Bandwidth(64 * 10**9), "64 GB/s"),
        (Bandwidth(5_000_000 * 10**9), "5,000,000 GB/s"),
        (Bandwidth(3_125_000_000), "3.125 GB/s"),
        (Bandwidth(1), "1 B/s"),
        (Capacity(6_144 * 2**30), "6,144 GiB"),
        (Capacity(0), "0 B"),
        (Compute(52_500), "52.5 TFLOPS"),
    ],
)
def test_prints_for_people(quantity: Quantity, text: str) -> None:
    assert str(quantity) == text


def test_a_gigabyte_is_no_gibibyte() -> None:
    assert Capacity.parse("96 GB") != Capacity.parse("96 GiB")


def test_units_of_answers() -> None:
    rate = Bandwidth.parse("25 GB/s")
    assert (rate.bytes_per_second, rate.gigabytes_per_second, rate.gigabits_per_second) == (25 * 10**9, 25.0, 200.0)
    assert (Capacity.parse("1.5 GiB").bytes, Capacity.parse("1.5 GiB").gibibytes) == (3 * 2**29, 1.5)


def test_counts_are_in_english() -> None:
    assert [pluralize(1, "switch"), pluralize(1_024, "chip"), pluralize(2, "switch")] == [
        "1 switch",
        "1,024 chips",
        "2 switches",
    ]
