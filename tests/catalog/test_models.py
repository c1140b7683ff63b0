"""Systems as the seed scripts declare them."""

import pytest

from trninv.catalog.facts import catalog
from trninv.catalog.models import System, systems
from trninv.errors import UnknownSystemError


@pytest.mark.parametrize(
    ("slug", "chips", "servers"),
    [
        ("trn1.2xlarge", 1, 1),
        ("trn1.32xlarge", 16, 1),
        ("trn2-16.48xlarge", 16, 1),
        ("u-trn2x64", 64, 4),
        ("trn3-gen1", 64, 4),
        ("trn3-gen2", 144, 36),
    ],
)
def test_sizes_are_the_documented_ones(slug: str, chips: int, servers: int) -> None:
    system = systems().get(slug)
    assert (system.chips, system.servers) == (chips, servers)
    assert catalog().value(slug, "chips") == chips


@pytest.mark.parametrize(
    ("alias", "slug"),
    [
        ("trn2.48xlarge", "trn2-16.48xlarge"),
        ("trn2u-ultraserver", "u-trn2x64"),
        ("TRN2U.48xlarge", "u-trn2x64"),
        ("trn3-gen2-ultraserver", "trn3-gen2"),
    ],
)
def test_aliases_as_users_write_them(alias: str, slug: str) -> None:
    assert systems().get(alias).slug == slug


def test_an_unknown_system_offers_the_nearest() -> None:
    with pytest.raises(UnknownSystemError, match="did you mean u-trn2x64"):
        systems().get("u-trn2x46")


def test_no_name_means_two_systems() -> None:
    names = [name for system in systems().systems for name in (system.slug, *system.aliases)]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("system", systems().systems, ids=lambda system: system.slug)
def test_trays_and_nics_agree_with_the_facts(system: System) -> None:
    known, domain = catalog(), system.domain
    trays = domain.server.trays
    assert sorted(chip for tray in trays for chip in tray) == list(
        range(len(trays) and domain.blueprint.chips // domain.blueprint.servers)
    )
    for count, attribute in ((len(trays), "compute_trays"), (len(trays[0]) if trays else None, "chips_per_tray")):
        if known.of(domain.server.slug, attribute):
            assert known.value(domain.server.slug, attribute) == count
    nics = sum(node.kind == "nic" for node in domain.blueprint.nodes) // domain.blueprint.servers
    assert known.value(domain.server.slug, "nics") == nics


@pytest.mark.parametrize("system", systems().systems, ids=lambda system: system.slug)
def test_racks_agree_with_the_facts(system: System) -> None:
    for servers in system.domain.blueprint.servers_by_rack:
        in_rack = servers * system.domain.domains_per_rack
        assert catalog().value(system.domain.slug, "servers_per_rack") == in_rack


def test_every_system_rests_on_a_seed_document_first() -> None:
    for system in systems().systems:
        assert system.sources(catalog())[0].kind == "seed"
