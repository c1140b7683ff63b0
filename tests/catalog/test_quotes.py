"""What a fact quotes from a seed document stands there: every run of three words, held to the document's digest."""

import re

import pytest
import quotes

from trninv.catalog.facts import Fact, default_catalog

DIGESTS = quotes.digests()
STATED = [fact for fact in default_catalog().facts if fact.formula is None and fact.source.slug in DIGESTS]
DERIVED = [fact for fact in default_catalog().facts if fact.formula is not None]
_QUOTED = re.compile(r"“([^”]*)”([^“]*)")


def _name(fact: Fact) -> str:
    return f"{fact.subject}-{fact.attribute.name}-{fact.as_written}"


def _missing(quote: str, source: str) -> list[str]:
    """What a quote has that its source has not; a table's label and its value stand apart there."""
    return [gram for part in quote.rsplit(": ", 1) for gram in quotes.missing(part, DIGESTS[source])]


def test_every_seed_document_has_a_digest() -> None:
    assert set(DIGESTS) == {slug for slug, source in default_catalog().sources.items() if source.kind == "seed"}


@pytest.mark.parametrize("fact", STATED, ids=_name)
def test_a_quote_stands_in_the_source_that_it_names(fact: Fact) -> None:
    assert _missing(fact.quote, fact.source.slug) == []


@pytest.mark.parametrize("fact", [fact for fact in STATED if fact.attribute.dimension == "text"], ids=_name)
def test_a_text_is_in_the_words_of_its_source(fact: Fact) -> None:
    assert _missing(fact.as_written, fact.source.slug) == []


@pytest.mark.parametrize("fact", DERIVED, ids=_name)
def test_a_derived_fact_says_of_which_source_each_of_its_quotes_is(fact: Fact) -> None:
    """Without a title behind it, a quote is of the fact's own source."""
    for quote, behind in _QUOTED.findall(fact.quote):
        titled = [source for source in default_catalog().sources.values() if behind.startswith(f" ({source.title})")]
        source = next(iter(titled), fact.source)
        assert quote in {other.quote for other in default_catalog().facts if other.source == source}
        assert source.slug not in DIGESTS or _missing(quote, source.slug) == []


def test_words_that_a_source_has_not_are_found_missing() -> None:
    assert _missing("NeuronLink-v4 bandwidth (GiB/sec/device): 2,048 for both UltraServers", "trn3-seed")
    assert _missing("8x 100 Gigabit, 8 cards, 8 EFA", "trn1-seed")
    assert not _missing("connected in a 2D Torus topology", "trn1-seed")
