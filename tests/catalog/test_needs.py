"""Facts that are missing are told all at once."""

from collections import defaultdict
from dataclasses import replace

import pytest

from trninv.catalog.facts import Catalog, default_catalog
from trninv.catalog.models import default_systems
from trninv.catalog.required_facts import check_facts
from trninv.errors import UnknownFactError


def _without(*keys: tuple[str, str]) -> Catalog:
    known = default_catalog()
    kept = defaultdict(list, {key: facts for key, facts in known._by_key.items() if key not in keys})
    return replace(known, _by_key=kept)


def test_what_is_missing_is_named_together() -> None:
    lost = ("trainium2", "cores"), ("trn2-16.48xlarge", "vcpus"), ("efa-200", "bandwidth")
    with pytest.raises(UnknownFactError) as refused:
        check_facts(_without(*lost), [default_systems().get("u-trn2x64").domain])
    assert str(refused.value).startswith(
        "the catalog has no number for cores of trainium2, vcpus of trn2-16.48xlarge, bandwidth of efa-200: add "
    )


def test_network_nodes_are_asked_for_where_there_will_be_some() -> None:
    known, domain = _without(("u-trn2x64", "domains_per_network_node")), default_systems().get("u-trn2x64").domain
    check_facts(known, [domain])
    with pytest.raises(UnknownFactError, match="the catalog has no number for domains_per_network_node of u-trn2x64"):
        check_facts(known, [domain], fabric=True)


def test_nothing_is_missing_of_the_systems_that_there_are() -> None:
    check_facts(default_catalog(), default_systems().domains.values(), fabric=True)
