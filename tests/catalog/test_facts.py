"""Facts, their readings, and the rule that picks between them."""

import shutil
from pathlib import Path

import pytest

from trninv.catalog.facts import Catalog, default_catalog
from trninv.catalog.models import default_systems
from trninv.errors import CatalogError, UnknownFactError
from trninv.settings import resource_directory

GB = 10**9


@pytest.mark.parametrize(
    ("subject", "attribute", "source", "value"),
    [
        ("trainium1", "bf16_compute", "trn1-seed", 210_000),
        ("trainium2", "bf16_compute", "trn2-seed", 625_000),  # AWS's own seed document before the blog's 650
        ("trainium2", "cores", "driver", 8),
        ("trn1.32xlarge", "neuronlink_bandwidth", "trn1-arch", 192 * GB),  # the newest vendor page
        ("u-trn2x64", "efa_bandwidth", "trn2-seed", 400 * GB),
        ("trn3-gen1", "mxfp8_compute", "trn3-seed", 161_088_000),  # the table before the prose
        ("rainier", "chips", "latitude-seed", 400_000),
        ("trn1-ultracluster", "chips", "trn1-seed", 30_000),
        ("rack", "rack_units", "assumed", 42),
        ("trn1.32xlarge", "bus_bandwidth", "trn1-arch", 192 * GB),  # what the wiring allows before what a page promises
    ],
)
def test_the_default_pick(subject: str, attribute: str, source: str, value: int) -> None:
    fact = default_catalog().picked_fact(subject, attribute)
    assert (fact.source.slug, fact.value) == (source, value)


@pytest.mark.parametrize(
    ("link", "value"),
    [
        ("neuronlink-v2", 48 * GB),
        ("neuronlink-v2-trn1n", 96 * GB),
        ("neuronlink-v2-inf2", 48 * GB),
        ("efa-trn2.3xlarge", 25 * GB),
        ("neuronlink-v3-plane", 128 * GB),
        ("neuronlink-v3-ring", 64 * GB),
        ("neuronlink-v4-server", 256 * GB),
        ("neuronlink-v4-rack", 320 * GB),
        ("neuronlink-v4-twin", 128 * GB),
        ("pcie-gen6-x8", 64 * GB),
        ("efa-100", 12_500_000_000),
        ("efa-200", 25 * GB),
        ("efa-trn3", 25 * GB),
        ("efa-trn1.2xlarge", 3_125_000_000),
    ],
)
def test_links_carry_this_in_one_direction(link: str, value: int) -> None:
    fact = default_catalog().picked_fact(link, "bandwidth")
    assert fact.value == value
    assert fact.reading_reason


CONFLICTS = {
    ("trainium1", "bf16_compute"): {"210 TFLOPS", "190 TFLOPS", "191 TFLOPS"},
    ("trn1.32xlarge", "bf16_compute"): {"3,360 TFLOPS", "3,040 TFLOPS"},
    ("trainium1", "int8_compute"): {"420 TOPS", "380 TOPS"},
    ("trainium1", "fp32_compute"): {"52.5 TFLOPS", "47.5 TFLOPS", "48 TFLOPS"},
    ("trainium2", "bf16_compute"): {
        "625 TFLOPS",
        "650 TFLOP/s",
        "650 TFLOPS",
        "655 TFLOPS",
        "667 TFLOPS",
        "668.75 TFLOPS",
    },
    ("trainium2", "fp8_compute"): {"1,250 TFLOPS", "1,287 TFLOPS", "1,299 TFLOPS"},
    ("trainium2", "sparse_compute"): {"2,500 TFLOPS", "2,551 TFLOPS", "2,563 TFLOPS"},
    ("trainium2", "cc_cores"): {"16", "20"},
    ("trainium2", "device_memory"): {"96 GiB", "96 GB", "512 GiB"},
    ("trainium2", "device_memory_bandwidth"): {"2,900 GB/s", "2.9 TB/sec", "3 TB/s"},
    ("trainium3", "device_memory_bandwidth"): {"4,900 GB/s", "4.9 TB/sec", "4.7 TB/s"},
    ("trainium3", "neuronlink_bandwidth"): {"2,048 GiB/sec/device", "2.56 TB/sec", "704 GB/s", "1.2 TB/s"},
    ("trn1.32xlarge", "neuronlink_bandwidth"): {"384 GiB/sec/chip", "1,536 GiB/sec/device"},
    ("trn1.32xlarge", "topology"): {"4D-HyperCube", "2D Torus"},
    ("trn1-ultracluster", "chips"): {"over 30,000", "over 100,000"},
    ("trn1.2xlarge", "efa_bandwidth"): {"up-to 25 Gbps", "Up to 12.5 Gbps"},
    ("u-trn2x64", "efa_bandwidth"): {"3,200 Gbps", "12.8 Tbps"},
    ("efa-200", "bandwidth"): {"25 GB/s", "200 Gbps", "up to 800 Gbps"},
    ("rainier", "chips"): {"400,000", "nearly 500,000", "1 million", "over a million"},
    ("nccom-test", "bandwidth_unit"): {"GB/s", "gibibytes per second"},
    ("trn1.32xlarge", "bus_bandwidth"): {"192 GB/s", "~400-500 GB/s", "18.37 GB/s"},
    ("trainium1", "device_memory"): {"32 GB", "32 GiB"},
    ("trainium1", "device_memory_bandwidth"): {"820 GB/sec", "820 GiB/sec", "0.8 TB/sec", "820 GB/s"},
    ("trn2-16.48xlarge", "neuronlink_intra_bandwidth"): {"1,024 GB/sec/device", "1,024 GiB/sec/chip"},
    ("trn3-gen2", "device_memory"): {"20,736 GiB", "20 TB"},
    ("trainium2", "core_model"): {"NeuronCore-v2", "NeuronCore-v3"},
    ("trainium2", "fp32_compute"): {"181.25 TFLOPS", "181 TFLOPS"},
}

DIFFER_IN = {
    "unit": {
        ("neuronlink-v2", "bandwidth"),
        ("neuronlink-v2-inf2", "bandwidth"),
        ("trainium1", "device_memory"),
        ("trn1.2xlarge", "device_memory_bandwidth"),
        ("trn1.32xlarge", "device_memory_bandwidth"),
        ("trn2-16.48xlarge", "neuronlink_intra_bandwidth"),
        ("u-trn2x64", "neuronlink_inter_bandwidth"),
        ("u-trn2x64", "neuronlink_intra_bandwidth"),
        ("trn3-gen1", "device_memory"),
    },
    "rounding": {
        ("trainium1", "device_memory_bandwidth"),  # 820 GB/sec, 0.8 TB/sec
        ("trainium2", "device_memory_bandwidth"),  # 2.9 TB/sec, 3 TB/s
        ("trn2.3xlarge", "fp32_compute"),  # 2.9 PFLOPS / 16, 0.18 PFLOPS
        ("trn2.3xlarge", "fp8_compute"),  # 20 PFLOPS / 16, 1.3 PFLOPS
        ("trainium2", "fp32_compute"),  # 2.9 PFLOPS / 16, 181 TFLOPS
        ("trn3-gen1", "device_memory_bandwidth"),
        ("trn3-gen1", "mxfp8_compute"),
        ("trn3-gen2", "device_memory"),
        ("trn3-gen2", "device_memory_bandwidth"),
        ("trn3-gen2", "mxfp8_compute"),
    },
}


@pytest.mark.parametrize("key", CONFLICTS)
def test_a_known_disagreement_is_reported_with_all_its_sides(key: tuple[str, str]) -> None:
    conflict = next(found for found in default_catalog().conflicts if (found.subject, found.attribute) == key)
    assert {f"{fact.as_written} {fact.unit}".rstrip() for fact in conflict.facts} == CONFLICTS[key]
    assert conflict.picked is conflict.facts[0]
    assert conflict.note


def test_what_differs_by_unit_or_rounding_alone_says_so() -> None:
    for conflict in default_catalog().conflicts:
        key = conflict.subject, conflict.attribute
        assert conflict.differ_in == next((name for name, keys in DIFFER_IN.items() if key in keys), "value"), key
        if conflict.differ_in == "value":
            assert len({str(fact) for fact in conflict.facts}) > 1, key


def test_a_source_that_is_named_counts_before_the_order_of_sources() -> None:
    picked = default_catalog().picked_fact("trainium2", "core_model")
    assert (picked.source.slug, picked.as_written) == ("nki-v3", "NeuronCore-v3")
    for chip in {system.domain.server.chip for system in default_systems().systems}:
        stated = default_catalog().facts_about(chip.slug, "core_model")
        assert [chip.core_model] == [fact.as_written for fact in stated[:1]] or not stated


def test_a_range_counts_as_its_least() -> None:
    promised = next(
        fact
        for fact in default_catalog().facts_about("trn1.32xlarge", "bus_bandwidth")
        if fact.as_written == "~400-500"
    )
    assert promised.value == 400 * GB
    assert promised.rounding_step == GB


def test_the_newest_releases_that_were_read() -> None:
    read = {fact.subject: fact for fact in default_catalog().facts if fact.attribute.name == "release_date"}
    assert {subject: (fact.as_written, fact.source.date) for subject, fact in read.items()} == {
        "neuron-sdk-2.33.0": ("October 19, 2026", "2026-10-19"),
        "neuron-sdk-2.33.1": ("November 11, 2026", "2026-11-11"),
    }
    assert max(source.date or "" for source in default_catalog().sources.values()) == "2026-11-11"


def test_later_numbers_of_a_cluster_are_facts_and_no_systems() -> None:
    assert {fact.value for fact in default_catalog().facts_about("rainier", "chips")} == {400_000, 500_000, 1_000_000}
    assert default_systems().get("rainier").chips == 400_000


def test_what_is_not_applicable_has_no_value() -> None:
    fact = default_catalog().picked_fact("trn2-16.48xlarge", "neuronlink_inter_bandwidth")
    assert (str(fact), fact.value) == ("Not applicable", None)
    with pytest.raises(CatalogError, match="is 'Not applicable', not a number"):
        default_catalog().picked_value("trn2-16.48xlarge", "neuronlink_inter_bandwidth")


def test_agreement_is_no_conflict() -> None:
    keys = {(conflict.subject, conflict.attribute) for conflict in default_catalog().conflicts}
    assert ("trainium3", "mxfp8_compute") not in keys  # 2,517 in both
    assert ("u-trn2x64", "chips") not in keys


def test_a_fact_that_follows_from_a_disputed_one_is_disputed() -> None:
    known = default_catalog()
    assert known.is_disputed(known.picked_fact("neuronlink-v3-plane", "bandwidth"))
    assert "2,048" in (known.note(known.picked_fact("neuronlink-v4-rack", "bandwidth")) or "")
    assert not known.is_disputed(known.picked_fact("trainium2", "cores"))


def test_every_fact_has_words_and_every_reading_its_grounds() -> None:
    for fact in default_catalog().facts:
        assert fact.quote
        if fact.reading_unit or fact.formula or fact.direction == "both":
            assert fact.reading_reason, fact


def test_an_unknown_fact_offers_the_nearest() -> None:
    with pytest.raises(UnknownFactError, match="did you mean trainium2 device_memory"):
        default_catalog().picked_fact("trainium2", "devicememory")


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    return Path(shutil.copytree(resource_directory() / "seed" / "catalog", tmp_path / "catalog"))


_THIRD_OF_A_CORE = 'formula = "trainium1:cores@trn1-seed / 3"\ngrounds = ""'


def _facts(row: str, source: str = "trn1-seed") -> str:
    return f'[[facts]]\nsource = "{source}"\nrows = [ {{ {row} }} ]\n'


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (_facts('subject = "x", attribute = "chips", value = "many", quote = "q"'), "many"),
        (_facts('subject = "x", attribute = "host_memory", value = "5", unit = "GB/s", quote = "q"'), "capacity"),
        (_facts('subject = "x", attribute = "colour", value = "5", quote = "q"'), "'colour' is not in attributes.toml"),
        (_facts('subject = "x", attribute = "chips", value = "5", quote = "q"', "nobody"), "'nobody' is not in"),
        (_facts('subject = "x", attribute = "efa_bandwidth", value = "5", unit = "Gbps", quote = "q"'), "direction"),
        (_facts('subject = "x", attribute = "chips", value = "5", quote = "q", direction = "one"'), "no direction"),
        (
            '[[derived]]\nsubject = "x"\nattribute = "chips"\nsource = "assumed"\nformula = "y:z@w"\ngrounds = ""',
            "no fact",
        ),
        (
            '[[derived]]\nsubject = "x"\nattribute = "chips"\nsource = "assumed"\n' + _THIRD_OF_A_CORE,
            "does not give a whole number",
        ),
        ("[[facts", "new.toml"),
    ],
)
def test_a_malformed_catalog_says_what_is_wrong(copy: Path, content: str, complaint: str) -> None:
    (copy / "new.toml").write_text(content)
    with pytest.raises(CatalogError, match=complaint):
        Catalog.load(copy)


def test_no_catalog_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(CatalogError, match="has no TOML files"):
        Catalog.load(tmp_path)
