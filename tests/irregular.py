"""Plans of clusters such as are adopted: domains of several models below network nodes in no documented shape."""

import random
from collections.abc import Mapping, Sequence

from trninv.catalog.facts import default_catalog
from trninv.catalog.models import default_systems
from trninv.database import migration
from trninv.database.engine import temporary_engine, write_transaction
from trninv.inventory.seeding import cluster_seeding
from trninv.inventory.seeding.cluster_plan import ADOPTED, ClusterPlan, DomainGroup
from trninv.topology.fabric_tree import FabricTree

MIXED = {"trn1.2xlarge": 1, "trn1.32xlarge": 3, "trn2-16.48xlarge": 2, "u-trn2x64": 3, "trn3-gen1": 1}


def plan(domains: Mapping[str, int], ways: Sequence[Sequence[Sequence[str]]]) -> ClusterPlan:
    """So many domains of each model; of each domain, the network nodes above each server (or above all)."""
    known = {system.domain.slug: system.domain for system in default_systems().systems}
    parts = tuple(DomainGroup(known[model], count) for model, count in domains.items())
    sizes = [part.model.blueprint.servers for part in parts for _ in range(part.domains)]
    above = {
        (domain, server): tuple(ways[domain][server % len(ways[domain])])
        for domain, servers in enumerate(sizes)
        for server in range(servers)
    }
    return ClusterPlan(ADOPTED, parts, FabricTree.from_network_paths(above))


def irregular(domains: Mapping[str, int], seed: int, *, tops: int = 1, split: bool = True) -> ClusterPlan:
    """Domains below random trees of 2 to 4 tiers; some hang below several nodes, if they may be split."""
    chance = random.Random(seed)
    tiers = chance.randint(2, 4)

    def way(top: str) -> list[str]:
        found = [top]
        for _ in range(tiers - 1 - (chance.random() < 0.2)):
            found.append(f"{found[-1]}{chance.choice('abc')}")
        return found

    def ways() -> list[list[str]]:
        top = f"nn-{chance.randrange(tops)}"
        return [way(top) for _ in range(2 if split and chance.random() < 0.4 else 1)]

    return plan(domains, [ways() for _ in range(sum(domains.values()))])


def make(url: str, plans: Mapping[str, ClusterPlan]) -> str:
    """These clusters in an empty database; its URL."""
    with temporary_engine(url) as engine:
        migration.create_tables_if_missing(engine)
        for slug, each in plans.items():
            with write_transaction(engine) as connection:
                cluster_seeding.create_cluster(connection, default_catalog(), each, slug)
    return url
