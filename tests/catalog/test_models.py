"""Systems as the catalog's TOML files declare them, and what is refused in a declaration."""

import tomllib

import pytest

from trninv.catalog.facts import default_catalog
from trninv.catalog.models import System, SystemCatalog, default_systems, parse_systems
from trninv.errors import CatalogError, InvalidArgumentError, UnknownPatternError, UnknownSystemError


@pytest.mark.parametrize(
    ("slug", "chips", "servers"),
    [
        ("inf2.xlarge", 1, 1),
        ("inf2.8xlarge", 1, 1),
        ("inf2.24xlarge", 6, 1),
        ("inf2.48xlarge", 12, 1),
        ("trn1.2xlarge", 1, 1),
        ("trn1.32xlarge", 16, 1),
        ("trn1n.32xlarge", 16, 1),
        ("trn2.3xlarge", 1, 1),
        ("trn2-16.48xlarge", 16, 1),
        ("u-trn2x64", 64, 4),
        ("trn3-gen1", 64, 4),
        ("trn3-gen2", 144, 36),
    ],
)
def test_sizes_are_the_documented_ones(slug: str, chips: int, servers: int) -> None:
    system = default_systems().get(slug)
    assert (system.chips, system.servers) == (chips, servers)
    assert default_catalog().picked_value(slug, "chips") == chips


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
    assert default_systems().get(alias).slug == slug


def test_an_unknown_system_offers_the_nearest() -> None:
    with pytest.raises(UnknownSystemError, match="did you mean u-trn2x64"):
        default_systems().get("u-trn2x46")


def test_no_name_means_two_systems() -> None:
    names = [name for system in default_systems().systems for name in (system.slug, *system.aliases)]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("system", default_systems().systems, ids=lambda system: system.slug)
def test_trays_and_nics_agree_with_the_facts(system: System) -> None:
    known, domain = default_catalog(), system.domain
    trays = domain.server.trays
    assert sorted(chip for tray in trays for chip in tray) == list(
        range(len(trays) and domain.blueprint.chips // domain.blueprint.servers)
    )
    for count, attribute in ((len(trays), "compute_trays"), (len(trays[0]) if trays else None, "chips_per_tray")):
        if known.facts_about(domain.server.slug, attribute):
            assert known.picked_value(domain.server.slug, attribute) == count
    nics = sum(node.kind == "nic" for node in domain.blueprint.nodes) // domain.blueprint.servers
    assert known.picked_value(domain.server.slug, "nics") == nics


@pytest.mark.parametrize("system", default_systems().systems, ids=lambda system: system.slug)
def test_racks_agree_with_the_facts(system: System) -> None:
    for servers in system.domain.blueprint.servers_by_rack:
        in_rack = servers * system.domain.domains_per_rack
        assert default_catalog().picked_value(system.domain.slug, "servers_per_rack") == in_rack


def test_every_system_that_a_plain_seed_loads_rests_on_a_seed_document_first() -> None:
    for system in default_systems().systems:
        assert system.is_by_name or system.sources(default_catalog())[0].kind == "seed"


def test_systems_come_smallest_generation_first_by_their_files() -> None:
    declared = {file: tuple(system.slug for system in listed) for file, listed in default_systems().declared.items()}
    assert (
        declared.items()
        >= {
            "inf2": ("inf2.xlarge", "inf2.8xlarge", "inf2.24xlarge", "inf2.48xlarge"),
            "trn1": ("trn1.2xlarge", "trn1.32xlarge", "trn1n.32xlarge"),
            "trn2": ("trn2-16.48xlarge", "u-trn2x64", "trn2.3xlarge"),
            "trn3": ("trn3-gen1", "trn3-gen2"),
            "ultracluster": ("trn1-ultracluster", "rainier", "trn3-ultracluster"),
        }.items()
    )
    assert [system.slug for system in default_systems().systems if system.is_opt_in] == ["rainier", "trn3-ultracluster"]


SMALL = """
[[chip]]
slug = "chip"
name = "Chip"
generation = "g"
core_model = "Core"
[[server]]
slug = "server"
chip = "chip"
trays = [[0, 1]]
[[link]]
slug = "wire"
technology = "Wire"
scope = "server"
[[link]]
slug = "efa"
technology = "EFA"
scope = "host"
[[domain]]
slug = "domain"
name = "Domain"
server = "server"
wiring = { pattern = "torus", sides = [2], axes = ["x"] }
links = { x = "wire", nic = "efa" }
[[system]]
slug = "system"
name = "System"
domain = "domain"
aliases = ["sys"]
"""


def _declared(text: str) -> SystemCatalog:
    return parse_systems({"attributes": {"servers": {}}, "g": tomllib.loads(text)})


def test_a_system_is_what_its_tables_say() -> None:
    system = _declared(SMALL).get("SYS")
    assert (system.chips, system.servers, system.domain.server.trays) == (2, 1, ((0, 1),))
    assert {role: link.technology for role, link in system.domain.links.items()} == {"x": "Wire", "nic": "EFA"}


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("[[system]]", "[[systems]]", "g.toml: unknown table 'systems': did you mean system?"),
        ("[[chip]]", "[chip]", "g.toml: write [[chip]], in double brackets"),
        (
            'core_model = "Core"',
            "",
            "g.toml: chip 'chip': 'core_model' is missing: the parameters are slug, name, generation",
        ),
        ('generation = "g"', "generation = 3", "g.toml: chip 'chip': generation = 3 is not text"),
        ('chip = "chip"', 'chip = "chop"', "g.toml: server 'server': no chip 'chop': did you mean chip?"),
        (
            "trays = [[0, 1]]",
            "trays = [[0, 2]]",
            "the trays of server 'server' do not have each of its chips exactly once",
        ),
        ("trays = [[0, 1]]", "trays = [0, 1]", "g.toml: server 'server': trays = 0 is not a list"),
        ('scope = "host"', 'scope = "hosts"', "g.toml: link 'efa': no scope 'hosts': did you mean host?"),
        ('scope = "server"', 'scope = "host"', "links of role 'x' reach beyond the scope 'host' of 'wire'"),
        ('"torus"', '"moebius"', "g.toml: domain 'domain': no wiring pattern 'moebius'; use one of chain, "),
        ('pattern = "torus", ', "", "g.toml: domain 'domain': no wiring pattern ''; use one of chain, "),
        ("sides = [2]", "sides = [2, 2]", "g.toml: domain 'domain': wiring 'torus': 2 sides and 1 axes"),
        ("x = ", "y = ", "g.toml: domain 'domain': its wiring has links of role 'x'; add a link model for this role"),
        ('name = "Domain"', 'name = "Domain"\nserver_sets = ["any 1 2"]', "'any 1 2' is neither server ordinals nor"),
        ("links = {", 'links = { z = "efa",', "g.toml: domain 'domain': its wiring has no role 'z'"),
        ('nic = "efa"', 'nic = "eva"', "g.toml: domain 'domain': no link 'eva': did you mean efa?"),
        ('nic = "efa"', "nic = 1", "g.toml: domain 'domain': links.nic = 1 is not text"),
        ('server = "server"', 'server = "s"', "no server 's': did you mean server?"),
        ('domain = "domain"', 'domain = "main"', "g.toml: system 'system': no domain 'main': did you mean domain?"),
        ('domain = "domain"', 'domain = "domain"\ndomains = 0', "domains = 0 is not a whole number of at least 1"),
        ('domain = "domain"', 'domain = "domain"\nlarge = 1', "g.toml: system 'system': large = 1 is not true or"),
        ('aliases = ["sys"]', 'aliases = ["system"]', "system 'system': 'system' is already a name of system"),
        ('aliases = ["sys"]', 'aliases = ["Sys"]', "system 'system': 'Sys' is not in lower case"),
        ('slug = "efa"', 'slug = "wire"', "g.toml: 'wire' is declared twice"),
        ('name = "Domain"', 'name = "Domain"\nswitch = "s"', "g.toml: domain 'domain': no switch 's': none is known"),
        (
            "[[domain]]\n",
            '[[switch]]\nslug = "s"\nname = "S"\n[[domain]]\nswitch = "s"\n',
            "g.toml: domain 'domain': its wiring has no switches; remove switch = 's'",
        ),
    ],
)
def test_what_is_wrong_in_a_declaration_is_told_with_its_file(old: str, new: str, says: str) -> None:
    assert old in SMALL
    with pytest.raises(CatalogError) as refused:
        _declared(SMALL.replace(old, new, 1))
    assert says in str(refused.value)
    assert isinstance(refused.value, UnknownPatternError) == ("no wiring" in says)


@pytest.mark.parametrize("domains", [1_000_001, 10**19])
def test_a_size_that_no_database_takes_is_refused(domains: int) -> None:
    system = default_systems().get("u-trn2x64")
    with pytest.raises(InvalidArgumentError, match="domains: give at most 1,000,000"):
        system.resized(domains)
    with pytest.raises(InvalidArgumentError, match="domains: give at most 1,000,000"):
        system.resized(system.domains_for(64 * domains))
