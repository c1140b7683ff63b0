"""What a system is said to add up to, before it is seeded, against what its rows add up to."""

import pytest
from graphql_sums import adds_up

from conftest import SYSTEMS, Ask
from trninv.catalog.derived import SystemTotals
from trninv.catalog.facts import default_catalog
from trninv.catalog.models import default_systems

pytestmark = pytest.mark.slow_on_postgresql(cases="all")


@pytest.mark.parametrize("slug", [system.slug for system in SYSTEMS])
def test_a_system_adds_up_to_what_is_seeded_of_it(ask: Ask, slug: str) -> None:
    adds_up(ask, slug)


def test_its_numbers_name_the_fact_of_one_part(ask: Ask) -> None:
    found = ask("{ systems { slug memory { fact { asWritten subject attribute } } hostMemory { fact { subject } } } }")
    (of,) = (each for each in found["data"]["systems"] if each["slug"] == "rainier")
    assert of["memory"]["fact"] == {"asWritten": "96 GiB", "subject": "trainium2", "attribute": "device_memory"}
    assert of["hostMemory"]["fact"]["subject"] == default_systems().get("rainier").domain.server.slug


def test_a_fact_says_what_contradicts_it_by_the_rule_of_the_catalog(ask: Ask) -> None:
    found = ask("{ facts(filter: {picked: {eq: true}}, first: 1000) { nodes { subject attribute dispute } } }")
    disputes = {(fact["subject"], fact["attribute"]): fact["dispute"] for fact in found["data"]["facts"]["nodes"]}
    catalog = default_catalog()
    assert disputes == {key: catalog.describe_dispute(catalog.picked_fact(*key)) for key in disputes}
    assert disputes["trainium2", "device_memory"] == "96 GiB; other sources: 512 GiB"
    assert disputes["trainium3", "device_memory"] is None  # only a unit is printed differently


def test_a_large_system_counts_the_nodes_of_its_fabric() -> None:
    design = SystemTotals.from_system(default_catalog(), default_systems().get("rainier"))
    fabric = default_systems().get("rainier").fabric(default_catalog())
    assert fabric is not None
    assert design.network_nodes == len(list(fabric.nodes()))
