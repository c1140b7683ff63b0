"""Refuse models that lack a fact, naming all that are missing at once."""

from collections.abc import Iterable, Iterator

from trninv.catalog.facts import Catalog
from trninv.catalog.models import DomainModel
from trninv.errors import UnknownFactError

_CHIP = ("cores", "device_memory", "device_memory_bandwidth")
_SERVER = ("vcpus", "host_memory")
_LINK = ("bandwidth",)
_FABRIC = ("domains_per_network_node", "nodes_per_network_node")


def check_facts(catalog: Catalog, domains: Iterable[DomainModel], *, fabric: bool = False) -> None:
    """Refuse domain models with required numbers that no document states.

    Parameters
    ----------
    fabric
        Whether domains will be connected by a fabric of the documented shape.

    Raises
    ------
    UnknownFactError
        Facts are missing, or are not numbers; the message names them all.
    """
    needed = dict.fromkeys(fact for domain in domains for fact in _required_facts(domain, fabric=fabric))
    missing = [
        f"{attribute} of {subject}"
        for subject, attribute in needed
        if catalog.picked_value_or_none(subject, attribute) is None
    ]
    if missing:
        raise UnknownFactError(
            f"no source states {', '.join(missing)}: add the facts to the catalog, from a document or as assumed"
        )


def _required_facts(domain: DomainModel, *, fabric: bool) -> Iterator[tuple[str, str]]:
    """Yield subject and attribute of every required fact."""
    yield from ((domain.server.chip.slug, attribute) for attribute in _CHIP)
    yield from ((domain.server.slug, attribute) for attribute in _SERVER)
    yield from ((link.slug, attribute) for link in domain.links.values() for attribute in _LINK)
    if fabric:
        yield from ((domain.slug, attribute) for attribute in _FABRIC)
