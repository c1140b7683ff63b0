"""show, facts, audit: what one thing is, and what the documents say."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, TypeVar

import click

from trninv.catalog.audit import audit as findings
from trninv.catalog.facts import Fact, catalog, difference
from trninv.catalog.models import systems
from trninv.cli.moment import at_option, looking
from trninv.cli.output import format_option, rows
from trninv.cli.output import show as put
from trninv.cli.places import PLACE
from trninv.cli.prose import say
from trninv.errors import UnknownFactError, nearest
from trninv.inventory.address import locate
from trninv.inventory.describe import Description, describe

T = TypeVar("T")


@click.command()
@click.argument("address", type=PLACE)
@at_option
@format_option
@click.pass_obj
def show(database: str, address: str, at: str | None, style: str) -> None:
    """One thing: what it is, its parts, its links, its facts.

    \b
    trninv show u-trn2x64/d0/s0/c0
    trninv show trn1.32xlarge/d0/s0/c0--trn1.32xlarge/d0/s0/c1
    """
    with looking(database, at, address) as connection:
        place = locate(connection, address)
        found = describe(connection, catalog(), place)
    shown = {
        "address": found.address,
        "level": found.level,
        "attributes": found.attributes,
        "parts": found.parts,
        "links": found.links,
        "notUp": found.not_up,
        "hasMoreNotUp": found.has_more_not_up,
        "facts": [_fact(fact) for fact in found.facts],
    }
    put(style, shown, lambda: _print(found))


@click.command()
@click.argument("subject", required=False)
@click.option("--conflicts", is_flag=True, help="Only what sources disagree on, with how to read it.")
@format_option
def facts(subject: str | None, conflicts: bool, style: str) -> None:
    """Numbers with their source, their quote, and how they are read; bandwidths are for one direction.

    \b
    trninv facts trainium3
    trninv facts --conflicts
    """
    known = catalog()
    wanted = [fact for fact in known.facts if subject is None or fact.subject == _subject(subject)]
    if conflicts:
        disputed = {(conflict.subject, conflict.attribute) for conflict in known.conflicts}
        wanted = [fact for fact in wanted if fact.key in disputed]

    def table() -> None:
        headers = ["subject", "attribute", "value", "counts", "as written", "read as", "source", "words"]
        rows(
            _with(headers, "differ in") if conflicts else headers,
            (_line(fact, is_conflict=conflicts) for fact in wanted),
            spare=["counts", "read as", "as written", "words", "source"],
        )
        about: dict[str, list[str]] = {}
        for key in dict.fromkeys(fact.key for fact in wanted if fact.key in known.notes):
            about.setdefault(known.notes[key], []).append(" ".join(key))
        for note, keys in about.items():
            say(f"\n{', '.join(keys)}: {note}")

    put(style, [_fact(fact) for fact in wanted], table)


@click.command()
@format_option
def audit(style: str) -> None:
    """Compare what follows from the documents' numbers with what they print.

    \b
    trninv audit
    """
    found = list(findings(catalog()))

    def table() -> None:
        rows(
            ["verdict", "subject", "attribute", "derived", "printed", "read as", "in", "derivation"],
            (
                [
                    f.verdict,
                    *f.printed.key,
                    f.derived,
                    _written(f.printed),
                    _read_as(f.printed),
                    f.printed.source.title,
                    f.formula,
                ]
                for f in found
            ),
            spare=["read as", "in", "derivation"],
        )

    put(
        style,
        [
            {"verdict": f.verdict, "derived": f.derived, "formula": f.formula, "printed": _fact(f.printed)}
            for f in found
        ],
        table,
    )


def _fact(fact: Fact) -> dict[str, Any]:
    known = catalog()
    return {
        "subject": fact.subject,
        "attribute": fact.attribute.name,
        "value": str(fact),
        "exact": None if fact.value is None else str(fact.value),
        "written": _written(fact),
        "quote": fact.quote,
        "readingUnit": fact.reading_unit,
        "readingDirection": fact.direction,
        "grounds": fact.grounds,
        "note": known.note(fact),
        "disputed": known.disputed(fact),
        "differsIn": difference(known.of(*fact.key)),
        "assumed": fact.source.kind == "assumed",
        "source": {"title": fact.source.title},
    }


def _subject(name: str) -> str:
    """The subject with that name, or of the system with that alias, ignoring case."""
    subjects = {fact.subject for fact in catalog().facts}
    if name.lower() in subjects:
        return name.lower()
    if system := systems().names.get(name.lower()):
        return system.slug
    raise UnknownFactError(f"no facts about {name!r}: {nearest(name.lower(), subjects)}")


def _written(fact: Fact) -> str:
    return f"{fact.written} {fact.unit}".rstrip()


def _as_written(fact: Fact) -> str:
    return "(derived)" if fact.formula else _written(fact)


def _read_as(fact: Fact) -> str:
    direction = {"one": "one direction", "both": "sum of both directions"}.get(fact.direction or "")
    return ", ".join(filter(None, [fact.reading_unit, direction]))


def _line(fact: Fact, *, is_conflict: bool) -> list[object]:
    facts = catalog().of(*fact.key)
    counts = "yes" if facts[0] is fact else ""
    line: list[object] = [*fact.key, fact, counts, _as_written(fact), _read_as(fact), fact.source.title, fact.quote]
    return _with(line, difference(facts)) if is_conflict else line


def _with(line: Sequence[T], word: T) -> list[T]:
    """A line with a word behind subject and attribute."""
    return [*line[:2], word, *line[2:]]


def _spans(parts: Sequence[str]) -> Iterator[str]:
    """u-trn2x64/d0/s0/c0 to c15, u-trn2x64/d0/s0/efa0 to efa15."""
    for _, group in groupby(parts, key=lambda part: part.rstrip("0123456789")):
        first, *rest = group
        yield f"{first} to {rest[-1].rsplit('/', 1)[1]}" if rest else first


def _print(found: Description) -> None:
    say(f"{found.address} ({found.level})")
    rows(["", ""], found.attributes.items())
    if found.parts:
        say(f"\nparts: {', '.join(_spans(found.parts))}")
    if found.not_up:
        more = " and others: trninv report not-up lists all" if found.has_more_not_up else ""
        say(f"\nnot up: {', '.join(found.not_up)}{more}")
    if found.links:
        click.echo()
        rows(
            ["link to", "one direction", "technology", "lanes", "state"],
            ([link.to, link.bandwidth, link.technology, link.lanes, link.state] for link in found.links),
        )
    if found.facts:
        click.echo()
        known = catalog()
        rows(
            ["fact", "value", "as written", "read as", "source", ""],
            ([" ".join(f.key), f, _as_written(f), _read_as(f), f.source.title, _mark(f)] for f in found.facts),
            spare=["as written", "read as"],
        )
        for note in dict.fromkeys(filter(None, map(known.note, found.facts))):
            say(f"disputed: {note}")


def _mark(fact: Fact) -> str:
    return "disputed" if catalog().disputed(fact) else ""
