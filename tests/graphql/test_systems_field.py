"""What a system is said to add up to, before it is seeded, against what its rows add up to."""

import pytest

from conftest import Ask
from trninv.catalog.design import Design
from trninv.catalog.facts import catalog
from trninv.catalog.models import systems

SYSTEMS = """{ systems { slug chips servers domains domainModel nics links networkNodes teraflops
    memory { bytes } memoryBandwidth { bytesPerSecond } hostMemory { bytes } efaBandwidth { bytesPerSecond }
    linkBandwidth { bytesPerSecond } } }"""
SEEDED = """query ($c: Address!) {
    chips(filter: {cluster: {eq: $c}}) { totalCount
        aggregates { teraflops memory { bytes } bandwidth { bytesPerSecond } } }
    servers(filter: {cluster: {eq: $c}}) { totalCount aggregates { memory { bytes } } }
    nics(filter: {cluster: {eq: $c}}) { totalCount aggregates { bandwidth { bytesPerSecond } } }
    links(filter: {cluster: {eq: $c}, scope: {in: [SERVER, RACK, DOMAIN]}}) { totalCount
        aggregates { bandwidth { bytesPerSecond } } }
    domains(filter: {cluster: {eq: $c}}) { totalCount } }"""


@pytest.mark.parametrize("slug", [system.slug for system in systems().systems if system.domains == 1])
def test_a_system_adds_up_to_what_is_seeded_of_it(ask: Ask, slug: str) -> None:
    (system,) = (each for each in ask(SYSTEMS)["data"]["systems"] if each["slug"] == slug)
    rows = ask(SEEDED, c=slug)["data"]
    sums = {kind: of["aggregates"][0] for kind, of in rows.items() if "aggregates" in of}
    assert system == {
        "slug": slug,
        "domainModel": systems().get(slug).domain.name,
        **{kind: rows[kind]["totalCount"] for kind in ("chips", "servers", "domains", "nics", "links")},
        "networkNodes": 0,
        "teraflops": sums["chips"]["teraflops"],
        "memory": sums["chips"]["memory"],
        "memoryBandwidth": sums["chips"]["bandwidth"],
        "hostMemory": sums["servers"]["memory"],
        "efaBandwidth": sums["nics"]["bandwidth"],
        "linkBandwidth": sums["links"]["bandwidth"] or {"bytesPerSecond": "0"},
    }


def test_its_numbers_name_the_fact_of_one_part(ask: Ask) -> None:
    found = ask("{ systems { slug memory { fact { written subject attribute } } hostMemory { fact { subject } } } }")
    (of,) = (each for each in found["data"]["systems"] if each["slug"] == "rainier")
    assert of["memory"]["fact"] == {"written": "96 GiB", "subject": "trainium2", "attribute": "device_memory"}
    assert of["hostMemory"]["fact"]["subject"] == systems().get("rainier").domain.server.slug


def test_a_large_system_counts_the_nodes_of_its_fabric() -> None:
    design = Design.of(catalog(), systems().get("rainier"))
    fabric = systems().get("rainier").fabric(catalog())
    assert fabric is not None
    assert design.network_nodes == len(list(fabric.nodes()))
