"""Derived numbers are compared with printed ones."""

import dataclasses
from fractions import Fraction

import pytest

from trninv.catalog.derived import DerivationCheck, check_derivations
from trninv.catalog.facts import default_catalog

FINDINGS = list(check_derivations(default_catalog()))


def _found(printed: str, subject: str, attribute: str) -> list[DerivationCheck]:
    return [
        finding
        for finding in FINDINGS
        if finding.printed.key == (subject, attribute) and finding.printed.as_written == printed
    ]


@pytest.mark.parametrize(
    ("subject", "attribute", "printed", "verdict"),
    [
        ("trn1.32xlarge", "device_memory_bandwidth", "13,120", "exact"),  # 16 × 820
        ("trainium2", "device_memory_bandwidth", "2.9", "exact"),  # 46.4 / 16
        ("trainium3", "mxfp8_compute", "2,517", "exact"),  # 161,088 / 64 and 362,448 / 144
        ("trn3-gen2", "chips", "144", "exact"),  # 2 racks × 18 × 4
        ("trn2-16.48xlarge", "rack_units", "18", "exact"),  # 2U + 8 × 2U
        ("trn2-16.48xlarge", "bf16_compute", "10.7", "rounds"),  # 16 × 667 = 10.672
        ("trn3-gen1", "mxfp8_compute", "161", "rounds"),
        ("trn3-gen2", "device_memory", "20", "rounds"),  # 20.25 TiB
        ("trainium3", "neuronlink_bandwidth", "2.56", "conflict"),  # 256 + 320 + 128
        ("trn3-gen1", "neuronlink_bandwidth", "2,048", "conflict"),
        ("u-trn2x64", "efa_bandwidth", "3,200", "conflict"),  # 4 × 3,200
        ("u-trn2x64", "efa_bandwidth", "12.8", "exact"),
    ],
)
def test_verdicts(subject: str, attribute: str, printed: str, verdict: str) -> None:
    found = _found(printed, subject, attribute)
    assert {finding.verdict for finding in found} == {verdict}


def test_a_cut_value_is_told_from_a_rounded_one() -> None:
    verdicts = {finding.derived: finding.verdict for finding in _found("10", "trn2-16.48xlarge", "bf16_compute")}
    assert verdicts == {"10,400 TFLOPS": "rounds", "10,672 TFLOPS": "truncates"}


def test_a_number_in_words_is_exact_only_if_it_is_equal() -> None:
    audits = tuple({"printed": "u-trn2x64:servers@trn2-seed", "derived": derived} for derived in ("2 * 2", "2 * 3"))
    changed = dataclasses.replace(default_catalog(), audits=audits)
    assert [finding.verdict for finding in check_derivations(changed)] == ["exact", "conflict"]


def test_a_changed_fact_fails_its_derivation() -> None:
    known = default_catalog()
    row = next(row for row in known.audits if row["printed"] == "trn3-gen2:chips@trn3-seed")
    only = dataclasses.replace(known, audits=({**row, "derived": row["derived"] + " + 1"},))
    assert [finding.verdict for finding in check_derivations(only)] == ["conflict"]


def test_formulas_are_sums_of_products() -> None:
    assert default_catalog().evaluate("trainium1:cores@trn1-seed * 3 / 4 + 1") == Fraction(5, 2)
