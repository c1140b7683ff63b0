"""Load documented numbers from the catalog's TOML files, and pick between sources that disagree.

Each number is a `Fact` about a subject (the slug of a model, such as "trainium2") and an attribute (such as
"device_memory"). Several sources may state it. If a document's wording is misleading, the fact records how it is read:
in another unit, or as the sum of both directions. Reconciliations (reconciliations.toml) explain facts that disagree.
"""

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Final

from trninv.catalog.toml_files import TomlFiles, catalog_directory, read_toml_files
from trninv.errors import CatalogError, UnitError, UnknownFactError, suggestion
from trninv.units import Bandwidth, Capacity, Compute, Duration, Quantity

SOURCE_KIND_MEANINGS: Final[Mapping[str, str]] = {
    "seed": "A seed document of this inventory.",
    "vendor": "The vendor's own documentation.",
    "driver": "Source code of the vendor's drivers and tools.",
    "third_party": "A publication by a third party.",
    "assumed": "An assumption of trninv, without a document.",
}
SOURCE_KINDS: Final = tuple(SOURCE_KIND_MEANINGS)
"""Kinds of sources, in the order in which the default pick prefers them."""
DIRECTIONS: Final = ("one", "both")
"""What a written bandwidth can mean: one direction, or the sum of both directions."""

CONFLICT_KIND_MEANINGS: Final[Mapping[str, str]] = {
    "value": "Sources state different values.",
    "rounding": "The other values are the most precise value, rounded.",
    "unit": "The values agree once a written unit is read as another one.",
}
"""How facts of one subject and attribute can disagree."""
CONFLICT_KINDS: Final = tuple(CONFLICT_KIND_MEANINGS)

EFA_FABRIC: Final = "efa-fabric"
"""The subject of facts about every EFA fabric."""

_QUANTITIES: Final[Mapping[str, type[Quantity]]] = {
    "capacity": Capacity,
    "bandwidth": Bandwidth,
    "compute": Compute,
    "duration": Duration,
}
_NUMBER_WORDS: Final = {"single": 1, "one": 1, "two": 2, "four": 4, "five": 5, "eight": 8, "a million": 10**6}
_NOT_APPLICABLE: Final = ("N/A", "Not applicable")
"""How documents write that a number does not apply."""
_NUMBER = re.compile(r"[\d,]*\d(?:\.(\d+))?")
_QUALIFIER = re.compile(r"(up[- ]to|over|nearly|more than)\s+|~|(?<=\d)-[\d.,]+", re.IGNORECASE)
"""Matches qualifiers to drop from a number; a range counts as its lower end."""
_TERM = re.compile(r"(?P<subject>[\w.-]+):(?P<attribute>\w+)(?:@(?P<source>[\w.-]+))?(?:#(?P<nth>\d))?")
"""Matches the name of a fact in a formula."""


@dataclass(frozen=True, slots=True)
class Source:
    """A document. ``kind`` is one of `SOURCE_KINDS`; ``date`` is a year, a month or a day, as far as it is known."""

    slug: str
    title: str
    publisher: str
    kind: str
    date: str | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Attribute:
    """A kind of number that facts state.

    Attributes
    ----------
    dimension
        What its values are: a quantity with units ("capacity", "bandwidth", …), "count", "text", …
    describes
        One line that describes the attribute.
    directional
        Whether each fact has to say if it states one direction or the sum of both.
    """

    name: str
    dimension: str
    describes: str
    directional: bool = False


@dataclass(frozen=True, slots=True)
class Fact:
    """One number as one document states it.

    Attributes
    ----------
    as_written, unit
        Value and unit exactly as written; for a derived fact, the formula's result.
    reading_unit
        The unit that the document means, if it differs from the written unit (GB for a printed GiB), else None.
    direction
        For a directional bandwidth, whether the written value is for "one" direction or the sum of "both".
    reading_reason
        Why the fact is read in that unit and direction.
    formula
        How a derived fact follows from others, else None.
    value
        Exact value in base units (bytes, bytes per second in ONE direction, 10⁹ operations per second, nanoseconds,
        count, dollars, rack units); None for text, and where a document states that there is no such number.
    """

    subject: str
    attribute: Attribute
    source: Source
    as_written: str
    unit: str
    quote: str
    reading_unit: str | None
    direction: str | None
    reading_reason: str | None
    formula: str | None
    value: int | None

    @property
    def key(self) -> tuple[str, str]:
        """The subject and attribute of the number."""
        return self.subject, self.attribute.name

    @property
    def rounding_step(self) -> Fraction | None:
        """The value of one unit of the last written digit; None if no digits are written or the value is 0 or None."""
        match = _NUMBER.search(self.as_written)
        if match is None or not self.value:
            return None
        digits = Fraction(match[0].replace(",", ""))
        return Fraction(self.value) / digits * Fraction(1, 10 ** len(match[1] or ""))

    def is_rounded(self, exact: Fraction) -> bool:
        """Return whether the fact is an exact value rounded half up to the written digits."""
        return (
            self.rounding_step is not None
            and math.floor(exact / self.rounding_step + Fraction(1, 2)) * self.rounding_step == self.value
        )

    def __str__(self) -> str:
        return render_value(self.value, self.attribute.dimension) if self.value is not None else self.as_written


@dataclass(frozen=True, slots=True)
class Conflict:
    """Facts of one subject and attribute whose values disagree, or agree only because of their readings.

    Attributes
    ----------
    picked
        The default pick.
    differ_in
        One of `CONFLICT_KINDS`.
    note
        The explanation in reconciliations.toml, if any.
    """

    subject: str
    attribute: str
    facts: tuple[Fact, ...]
    picked: Fact
    differ_in: str
    note: str | None


def render_value(value: int, dimension: str) -> str:
    """Format a value in base units for people: "64 GB/s", "96 GiB", "2,517 TFLOPS", "$4,000", "18 U", "16"."""
    if quantity := _QUANTITIES.get(dimension):
        return str(quantity(value))
    return {"usd": f"${value:,}", "rack_units": f"{value:,} U"}.get(dimension, f"{value:,}")


@dataclass(frozen=True, eq=False)
class Catalog:
    """All facts, in the order of the default pick within each subject and attribute.

    Attributes
    ----------
    notes
        Explanations of facts that disagree, by subject and attribute.
    audits
        Formulas and the printed facts to compare them with (`trninv.catalog.derived`).
    """

    attributes: Mapping[str, Attribute]
    sources: Mapping[str, Source]
    facts: tuple[Fact, ...]
    notes: Mapping[tuple[str, str], str]
    audits: tuple[Mapping[str, str], ...]
    _by_key: Mapping[tuple[str, str], list[Fact]] = field(repr=False)

    @classmethod
    def load(cls, directory: Path) -> "Catalog":
        """Load every TOML file of a directory.

        Raises
        ------
        CatalogError
            A file is wrong: an unknown source, attribute or unit, a missing direction, … The message quotes the entry.
        """
        try:
            return _Loader(read_toml_files(directory)).catalog()
        except (TypeError, KeyError, ValueError) as error:
            raise CatalogError(f"{directory}: an entry has a missing or an unknown key: {error}") from error

    def facts_about(self, subject: str, attribute: str) -> tuple[Fact, ...]:
        """Return all facts of a subject and attribute, the default pick first; empty if there are none."""
        return tuple(self._by_key.get((subject, attribute), ()))

    def picked_fact(self, subject: str, attribute: str) -> Fact:
        """Return the default pick: by kind of source in the order of `SOURCE_KINDS`, AWS's before others, newest first.

        If those are equal, printed facts come before derived ones. Where this order would pick a wrong number, a
        reconciliation names the source to pick.

        Raises
        ------
        UnknownFactError
            No source states it.
        """
        if facts := self.facts_about(subject, attribute):
            return facts[0]
        offer = suggestion(f"{subject} {attribute}", (" ".join(key) for key in self._by_key))
        raise UnknownFactError(f"no document gives {attribute} of {subject}: {offer}")

    def picked_value(self, subject: str, attribute: str) -> int:
        """Return the exact value of the picked fact, in base units."""
        value = self.picked_fact(subject, attribute).value
        if value is None:
            raise CatalogError(
                f"{attribute} of {subject} is {self.picked_fact(subject, attribute).as_written!r}, not a number"
            )
        return value

    def picked_value_or_none(self, subject: str, attribute: str) -> int | None:
        """Return the exact value of the picked fact, or None if no document states one."""
        facts = self.facts_about(subject, attribute)
        return facts[0].value if facts else None

    @cached_property
    def conflicts(self) -> tuple[Conflict, ...]:
        """All conflicts, by subject and attribute."""
        return tuple(
            Conflict(*key, tuple(facts), facts[0], differ_in, self.notes.get(key))
            for key, facts in sorted(self._by_key.items())
            if (differ_in := conflict_kind(facts))
        )

    def is_disputed(self, fact: Fact) -> bool:
        """Return whether sources disagree about a fact, or a note explains it or a fact that it is derived from."""
        return bool(self.note(fact)) or conflict_kind(self.facts_about(*fact.key)) is not None

    def other_values(self, fact: Fact) -> tuple[str, ...]:
        """Return the different values that other sources state, formatted for people, without repeats."""
        return tuple(dict.fromkeys(str(other) for other in self.facts_about(*fact.key) if str(other) != str(fact)))

    def describe_dispute(self, fact: Fact) -> str | None:
        """Describe a value and what contradicts it; None if nothing does, or if only the written units differ."""
        if others := self.other_values(fact):
            return f"{fact}; other sources: {'; '.join(others)}"
        if not self._is_in_doubt(fact):
            return None
        return f"{fact}, {'derived from disputed facts' if fact.formula else 'see the note on its reading'}"

    def _is_in_doubt(self, fact: Fact) -> bool:
        """Return whether sources state other values, a note explains it, or a fact it is derived from is in doubt."""
        differ_in = conflict_kind(self.facts_about(*fact.key))
        is_explained = differ_in is None and fact.key in self.notes
        return differ_in == "value" or is_explained or any(map(self._is_in_doubt, self._terms(fact)))

    def note(self, fact: Fact) -> str | None:
        """Return the note that explains a fact, or else a fact that it is derived from; None if there is no note."""
        return self.notes.get(fact.key) or next(filter(None, map(self.note, self._terms(fact))), None)

    def _terms(self, fact: Fact) -> Iterator[Fact]:
        """Yield the facts from which a fact is derived."""
        return (self.term(match[0]) for match in _TERM.finditer(fact.formula or ""))

    def evaluate(self, formula: str) -> Fraction:
        """Evaluate sums of products and quotients of ``subject:attribute@source`` and whole numbers, in base units."""
        return _evaluate(formula, self.term)

    def term(self, term: str) -> Fact:
        """Return the fact named ``subject:attribute@source#nth``.

        Without a source, all sources count; without ``#nth``, the first in the order of the default pick is returned.
        """
        match = _TERM.fullmatch(term)
        if match is None:
            raise CatalogError(f"{term!r} is not subject:attribute@source")
        facts = [
            fact
            for fact in self.facts_about(match["subject"], match["attribute"])
            if match["source"] in (None, fact.source.slug)
        ]
        nth = int(match["nth"] or 1)
        if len(facts) < nth:
            raise CatalogError(f"no fact {term}")
        return facts[nth - 1]


def conflict_kind(facts: Iterable[Fact]) -> str | None:
    """Return how facts of one subject and attribute disagree, one of `CONFLICT_KINDS`, or None if they agree."""
    listed = list(facts)
    values = {fact.value if fact.value is not None else fact.as_written for fact in listed}
    if len(values) > 1:
        return "rounding" if _are_rounded(listed) else "value"
    return "unit" if len(listed) > 1 and any(fact.reading_unit for fact in listed) else None


def _are_rounded(facts: list[Fact]) -> bool:
    """Return whether every value is the most precise value, or that value rounded."""
    steps = [(fact.rounding_step, fact.value) for fact in facts if fact.rounding_step is not None]
    if len(steps) < len(facts):
        return False
    _, most_precise = min(steps)
    return all(fact.value == most_precise or fact.is_rounded(Fraction(most_precise or 0)) for fact in facts)


@lru_cache(maxsize=1)
def default_catalog() -> Catalog:
    """Load the catalog that ships with trninv."""
    return Catalog.load(catalog_directory())


def _evaluate(formula: str, find_fact: Any) -> Fraction:  # find_fact: Callable[[str], Fact], where value is not None
    """Evaluate sums of products and quotients of whole numbers and of the facts that ``find_fact`` returns by name."""
    total = Fraction(0)
    for product in formula.split(" + "):
        tokens = product.split()
        value = Fraction(1)
        for operator, operand in zip(["*", *tokens[1::2]], tokens[::2], strict=True):
            factor = Fraction(int(operand)) if operand.isdigit() else Fraction(find_fact(operand).value)
            value = value * factor if operator == "*" else value / factor
        total += value
    return total


class _Loader:
    """Builds a catalog from the content of its TOML files."""

    def __init__(self, files: TomlFiles) -> None:
        files = dict(files)
        self.attributes = {name: Attribute(name, **row) for name, row in files.pop("attributes").items()}
        self.sources = {slug: Source(slug, **row) for slug, row in files.pop("sources").items()}
        self.files = files
        self.facts: dict[tuple[str, str], list[Fact]] = defaultdict(list)

    def catalog(self) -> Catalog:
        """Return the catalog: printed facts, then those derived from them, each in the order of the default pick."""
        for row in self._printed_rows():
            self._add(row)
        for content in self.files.values():
            for row in content.get("derived", ()):
                self._derive(row)
        preferred_sources = self._reconciliations("counts")
        for key, facts in self.facts.items():
            facts.sort(key=_rank)
            if source := preferred_sources.get(key):
                facts.sort(key=lambda fact: fact.source.slug != source)
        ordered = {key: self.facts[key] for key in sorted(self.facts)}
        return Catalog(
            attributes=self.attributes,
            sources=self.sources,
            facts=tuple(fact for facts in ordered.values() for fact in facts),
            notes=self._reconciliations("note"),
            audits=tuple(row for content in self.files.values() for row in content.get("audit", ())),
            _by_key=ordered,
        )

    def _printed_rows(self) -> Iterator[dict[str, Any]]:
        """Yield a row for each printed fact: first from the tables that cover several subjects, then single facts."""
        for content in self.files.values():
            for table in content.get("table", ()):
                for row in table["rows"]:
                    other_keys = {key: value for key, value in row.items() if key not in ("label", "values")}
                    for subject, value in zip(table["subjects"], row["values"], strict=True):
                        if value:
                            quote = f"{row['label']}: {value}"
                            yield {
                                "source": table["source"],
                                "subject": subject,
                                "value": value,
                                "quote": quote,
                                **other_keys,
                            }
        for content in self.files.values():
            for group in content.get("facts", ()):
                for row in group["rows"]:
                    yield {"source": group["source"], **row}

    def _add(self, row: dict[str, Any]) -> None:
        """Add a printed fact."""
        attribute, source = self._lookup(row)
        unit, reading_unit = row.get("unit", ""), row.get("read")
        direction = row.get("direction")
        if attribute.directional != (direction in DIRECTIONS):
            raise CatalogError(
                f"{row}: {attribute.name} needs direction = one or both"
                if attribute.directional
                else f"{row}: {attribute.name} has no direction; remove it"
            )
        value = _parse_value(row, attribute, reading_unit or unit)
        if direction == "both" and value is not None:
            value //= 2
        self.facts[row["subject"], attribute.name].append(
            Fact(
                subject=row["subject"],
                attribute=attribute,
                source=source,
                as_written=row["value"],
                unit=unit,
                quote=row["quote"],
                reading_unit=reading_unit,
                direction=direction,
                reading_reason=row.get("grounds"),
                formula=None,
                value=value,
            )
        )

    def _derive(self, row: dict[str, Any]) -> None:
        """Add a fact that a formula derives from others."""
        attribute, source = self._lookup(row)
        value = _evaluate(row["formula"], self._term)
        if value.denominator != 1:
            raise CatalogError(f"{row['formula']} does not give a whole number of base units")
        exact = value.numerator
        self.facts[row["subject"], attribute.name].append(
            Fact(
                subject=row["subject"],
                attribute=attribute,
                source=source,
                as_written=render_value(exact, attribute.dimension),
                unit="",
                quote=_TERM.sub(lambda term: self._quote_term(term[0], source), row["formula"]),
                reading_unit=None,
                direction="one" if attribute.directional else None,
                reading_reason=row["grounds"],
                formula=row["formula"],
                value=exact,
            )
        )

    def _quote_term(self, term: str, source: Source) -> str:
        """Quote a term's fact, naming its document unless that is ``source``, and whether it sums both directions."""
        fact = self._term(term)
        remarks = [fact.source.title] * (fact.source != source) + ["both directions"] * (fact.direction == "both")
        return f"“{fact.quote}”" + (f" ({', '.join(remarks)})" if remarks else "")

    def _term(self, term: str) -> Fact:
        """Return the fact named ``subject:attribute@source``; refuse a fact without a value."""
        match = _TERM.fullmatch(term)
        for fact in self.facts.get((match["subject"], match["attribute"]), ()) if match else ():
            if match is not None and fact.source.slug == match["source"] and fact.value is not None:
                return fact
        raise CatalogError(f"no fact {term}")

    def _lookup(self, row: Mapping[str, Any]) -> tuple[Attribute, Source]:
        """Return the attribute and the source that a row names."""
        try:
            return self.attributes[row["attribute"]], self.sources[row["source"]]
        except KeyError as error:
            raise CatalogError(f"{dict(row)}: {error.args[0]!r} is not in attributes.toml or sources.toml") from None

    def _reconciliations(self, key: str) -> dict[tuple[str, str], str]:
        """Return the values of a key of reconciliations.toml ("note" or "counts") by subject and attribute."""
        return {
            (subject, attribute): row[key]
            for row in self.files["reconciliations"]["reconciliation"]
            if key in row
            for subject in row["subjects"]
            for attribute in row["attributes"]
            if (subject, attribute) in self.facts
        }


def _rank(fact: Fact) -> tuple[int, bool, tuple[int, ...], bool]:
    """Return the sort key of the default pick; ties keep the order of the files."""
    newest_first = tuple(-int(part) for part in (fact.source.date or "0").split("-"))
    is_not_aws = not fact.source.publisher.startswith("AWS")
    return SOURCE_KINDS.index(fact.source.kind), is_not_aws, newest_first, fact.formula is not None


def _parse_value(row: Mapping[str, Any], attribute: Attribute, unit: str) -> int | None:
    """Return the exact value of a row in base units; None for text, and if the document writes "N/A"."""
    number = _QUALIFIER.sub("", row["value"])
    if attribute.dimension == "text" or number in _NOT_APPLICABLE:
        return None
    try:
        if quantity := _QUANTITIES.get(attribute.dimension):
            return int(quantity.parse(f"{number} {unit}"))
        if word := _NUMBER_WORDS.get(number.lower()):
            return word
        return int(number.removesuffix(" million").replace(",", "")) * (10**6 if "million" in number else 1)
    except (UnitError, ValueError) as error:
        raise CatalogError(f"{dict(row)}: {error}") from None
