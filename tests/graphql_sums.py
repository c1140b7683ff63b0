"""What a system is said to add up to, before it is seeded, against what its rows add up to."""

from conftest import Ask
from trninv.catalog.models import default_systems

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


def adds_up(ask: Ask, slug: str) -> None:
    (system,) = (each for each in ask(SYSTEMS)["data"]["systems"] if each["slug"] == slug)
    rows = ask(SEEDED, c=slug)["data"]
    sums = {kind: of["aggregates"][0] for kind, of in rows.items() if "aggregates" in of}
    assert system == {
        "slug": slug,
        "domainModel": default_systems().get(slug).domain.name,
        **{kind: rows[kind]["totalCount"] for kind in ("chips", "servers", "domains", "nics", "links")},
        "networkNodes": 0,
        "teraflops": sums["chips"]["teraflops"],
        "memory": sums["chips"]["memory"],
        "memoryBandwidth": sums["chips"]["bandwidth"],
        "hostMemory": sums["servers"]["memory"],
        "efaBandwidth": sums["nics"]["bandwidth"],
        "linkBandwidth": sums["links"]["bandwidth"] or {"bytesPerSecond": "0"},
    }
