"""show, facts, audit: what one thing is, and what the documents say."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

import click

from trninv.catalog.audit import audit as findings
from trninv.catalog.facts import Fact, catalog
from trninv.cli.output import format_option, rows
from trninv.cli.output import show as put
from trninv.errors import UnknownFactError, nearest
from trninv.inventory.address import resolve, resolve_link
from trninv.inventory.database import connect, reading
from trninv.inventory.describe import Description, describe


@click.command()
@click.argument("address")
@format_option
@click.pass_obj
def show(database: str, address: str, style: str) -> None:
    """One thing: what it is, its parts, its links, its facts.

    \b
    trninv show u-trn2x64/d0/s0/c0
    trninv show trn1.32xlarge/d0/s0/c0--trn1.32xlarge/d0/s0/c1
    """
    with connect(database) as engine, reading(engine) as connection:
        place = resolve_link(connection, address) if "--" in address else resolve(connection, address)
        found = describe(connection, catalog(), place)
    shown = {
        "address": found.address,
        "level": found.level,
        "attributes": found.attributes,
        "parts": found.parts,
        "links": found.links,
        "facts": [_fact(fact) for fact in found.facts],
    }
    put(style, shown, lambda: _print(found))


@click.command()
@click.argument("subject", required=False)
@click.option("--conflicts", is_flag=True, help="Only what sources disagree on, with how to read it.")
@format_option
def facts(subject: str | None, conflicts: bool, style: str) -> None:
    """Numbers with their source, their words, and how they are read; the first of each is the one that counts.

    \b
    trninv facts trainium3
    trninv facts --conflicts
    """
    known = catalog()
    subjects = {fact.subject for fact in known.facts}
    if subject is not None and subject not in subjects:
        raise UnknownFactError(f"no facts about {subject!r}: {nearest(subject, subjects)}")
    wanted = [fact for fact in known.facts if subject in (None, fact.subject)]
    if conflicts:
        disputed = {(conflict.subject, conflict.attribute) for conflict in known.conflicts}
        wanted = [fact for fact in wanted if fact.key in disputed]

    def table() -> None:
        rows(["subject", "attribute", "value", "as written", "source", "words"], map(_line, wanted))
        for note in dict.fromkeys(known.notes[fact.key] for fact in wanted if fact.key in known.notes):
            click.echo(f"\n{note}")

    put(style, [_fact(fact) for fact in wanted], table)


@click.command()
@format_option
def audit(style: str) -> None:
    """What follows from the documents' numbers, against what they print.

    \b
    trninv audit
    """
    found = list(findings(catalog()))

    def table() -> None:
        rows(
            ["verdict", "derived", "printed", "in", "derivation"],
            ([f.verdict, f.derived, _written(f.printed), f.printed.source.title, f.formula] for f in found),
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
        "assumed": fact.source.kind == "assumed",
        "source": {"title": fact.source.title},
    }


def _written(fact: Fact) -> str:
    return f"{fact.written} {fact.unit}".rstrip()


def _line(fact: Fact) -> list[object]:
    known = catalog()
    mark = "" if known.of(*fact.key)[0] is fact else "  "
    return [fact.subject, fact.attribute.name, f"{mark}{fact}", _written(fact), fact.source.title, fact.quote]


def _spans(parts: Sequence[str]) -> Iterator[str]:
    """u-trn2x64/d0/s0/c0 to c15, u-trn2x64/d0/s0/efa0 to efa15."""
    for _, group in groupby(parts, key=lambda part: part.rstrip("0123456789")):
        first, *rest = group
        yield f"{first} to {rest[-1].rsplit('/', 1)[1]}" if rest else first


def _print(found: Description) -> None:
    click.echo(f"{found.address} ({found.level})")
    rows(["", ""], found.attributes.items())
    if found.parts:
        click.echo(f"\nparts: {', '.join(_spans(found.parts))}")
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
            ["fact", "value", "as written", "source", ""],
            (
                [f"{f.subject} {f.attribute.name}", f, _written(f), f.source.title, "disputed" * known.disputed(f)]
                for f in found.facts
            ),
        )
