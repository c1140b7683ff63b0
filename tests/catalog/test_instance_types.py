"""Which models claim which EC2 types, in the one place that says so."""

import pytest

from trninv.catalog.facts import default_catalog
from trninv.catalog.instance_types import (
    UNCLAIMED_REASON,
    UnclaimedType,
    chips_by_address,
    count_unclaimed_types,
    models_of,
    type_names,
)
from trninv.catalog.models import default_systems

GEN1, GEN2 = "trn3-gen1", "trn3-gen2"


@pytest.mark.parametrize(
    ("instance_type", "models"),
    [
        ("trn1.2xlarge", {"trn1.2xlarge"}),
        ("trn1.32xlarge", {"trn1.32xlarge"}),
        ("ml.trn1.32xlarge", {"trn1.32xlarge"}),
        ("trn1n.32xlarge", {"trn1n.32xlarge"}),
        ("trn2.3xlarge", {"trn2.3xlarge"}),
        ("trn2.48xlarge", {"trn2-16.48xlarge"}),
        ("trn2u.48xlarge", {"u-trn2x64"}),
        ("inf2.24xlarge", {"inf2.24xlarge"}),
        ("trn3.48xlarge", {GEN1, GEN2}),
        ("trn3s-es.48xlarge", {GEN1, GEN2}),
        ("trn3e.24xlarge", {GEN2}),
        ("trn3p.48xlarge", set()),
        ("trn3s-es.3xlarge", set()),
        ("m5.large", set()),
        ("Trn1", set()),
        ("inf1.xlarge", set()),
        ("", set()),
    ],
)
def test_a_type_is_of_the_models_that_the_catalog_says(instance_type: str, models: set[str]) -> None:
    assert models_of(instance_type) == models


@pytest.mark.parametrize(
    ("chips", "models"), [(1, {GEN2}), (4, {GEN2}), (5, {GEN1}), (15, {GEN1}), (16, {GEN1}), (17, set())]
)
def test_chips_tell_apart_models_that_claim_one_type(chips: int, models: set[str]) -> None:
    assert models_of("trn3.48xlarge", chips) == models


def test_chips_do_not_count_where_one_model_claims_the_type() -> None:
    assert models_of("trn1.32xlarge", 15) == {"trn1.32xlarge"}


def test_types_that_no_model_claims_are_counted() -> None:
    found = count_unclaimed_types(["m5.large", "trn1.32xlarge", "c5.xlarge", "m5.large"])
    assert found == (
        UnclaimedType("c5.xlarge", 1, UNCLAIMED_REASON),
        UnclaimedType("m5.large", 2, UNCLAIMED_REASON),
    )


def test_every_model_has_types_and_a_pattern_is_marked_as_assumed() -> None:
    for model in default_systems().domains.values():
        assert model.ec2_types
        if not type_names(model):
            assert default_catalog().picked_fact(model.server.slug, "ec2_types").source.kind == "assumed"


def test_chips_are_known_by_their_addresses_where_a_document_says() -> None:
    assert chips_by_address("trn2u.48xlarge")["0000:e1:00.0"] == 13
    assert chips_by_address("trn2u.48xlarge") == chips_by_address("trn2.48xlarge")
    assert chips_by_address("trn1.32xlarge") == chips_by_address("m5.large") == {}
