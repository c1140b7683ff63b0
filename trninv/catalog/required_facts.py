"""Refuse models that lack a fact, naming all missing facts at once, before their rows are written."""

from collections.abc import Iterable, Iterator

from trninv.catalog.facts import Catalog
from trninv.catalog.models import DomainModel
from trninv.errors import UnknownFactError

_CHIP = ("cores", "device_memory", "device_memory_bandwidth")
_SERVER = ("vcpus", "host_memory")
_LINK = ("bandwidth",)
_FABRIC = ("domains_per_network_node", "nodes_per_network_node")


def check_facts(catalog: Catalog, domains: Iterable[DomainModel], *, fabric: bool = False) -> None:
    """Refuse domain models for which the catalog lacks a required number.

    Parameters
    ----------
    fabric
        Whether the domains will be connected by a fabric, whose shape must be documented.

    Raises
    ------
    UnknownFactError
        Facts are missing, or are not numbers; the message names them all.
    """
    required = dict.fromkeys(fact for domain in domains for fact in _required_facts(domain, fabric=fabric))
    missing = [
        f"{attribute} of {subject}"
        for subject, attribute in required
        if catalog.picked_value_or_none(subject, attribute) is None
    ]
    if missing:
        raise UnknownFactError(
            f"the catalog has no number for {', '.join(missing)}: add the facts, from a document or marked as assumed"
        )


def _required_facts(domain: DomainModel, *, fabric: bool) -> Iterator[tuple[str, str]]:
    """Yield subject and attribute of every required fact."""
    yield from ((domain.server.chip.slug, attribute) for attribute in _CHIP)
    yield from ((domain.server.slug, attribute) for attribute in _SERVER)
    yield from ((link.slug, attribute) for link in domain.links.values() for attribute in _LINK)
    if fabric:
        yield from ((domain.slug, attribute) for attribute in _FABRIC)
