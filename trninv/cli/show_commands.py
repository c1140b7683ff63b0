"""Show places and links, documented facts and the audit (`show`, `facts`, `audit`)."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, TypeVar

import click

from trninv.catalog.derived import check_derivations
from trninv.catalog.facts import Fact, conflict_kind, default_catalog
from trninv.catalog.models import default_systems
from trninv.cli.database_connection import at_option
from trninv.cli.messages import print_wrapped
from trninv.cli.output import format_option, print_table, print_value
from trninv.cli.progress_line import Progress
from trninv.cli.scenario_options import open_scenario
from trninv.cli.shell_completion import ADDRESS
from trninv.errors import UnknownFactError, suggestion
from trninv.inventory.schema.description import Description
from trninv.units import pluralize

T = TypeVar("T")


@click.command()
@click.argument("address", type=ADDRESS)
@click.option("--links", "shows_links", is_flag=True, help="List all of its links, not only those that are not up.")
@click.option("--facts", "shows_facts", is_flag=True, help="Also list the documented numbers that it is built from.")
@at_option
@format_option
@click.pass_obj
def show(database: str, address: str, as_of: str | None, style: str, *, shows_links: bool, shows_facts: bool) -> None:
    """Show a place or link with its attributes, parts, links and facts.

    \b
    trninv show u-trn2x64/d0/s0/c0
    trninv show u-trn2x64/d0/s0/c0 --links --facts
    trninv show trn1.32xlarge/d0/s0/c0--trn1.32xlarge/d0/s0/c1
    """
    with open_scenario(database, (), (), as_of) as fleet, Progress("show"):
        description = fleet.describe(address)
    fields = {
        "address": description.address,
        "level": description.level,
        "attributes": description.attributes,
        "parts": description.parts,
        "links": description.links,
        "unhealthy": description.unhealthy,
        "hasMoreUnhealthy": description.has_more_unhealthy,
        "facts": [_fact_to_json(fact) for fact in description.facts],
    }
    print_value(
        style, fields, lambda: _render_description(description, shows_links=shows_links, shows_facts=shows_facts)
    )


@click.command()
@click.argument("subject", required=False)
@click.option("--conflicts", is_flag=True, help="Only facts on which sources disagree, with notes.")
@format_option
def facts(subject: str | None, conflicts: bool, style: str) -> None:
    """List documented numbers with their sources and quotes.

    SUBJECT is a model or system, such as trainium3. Bandwidths are for one direction.

    \b
    trninv facts trainium3
    trninv facts --conflicts
    """
    facts_catalog = default_catalog()
    chosen = [fact for fact in facts_catalog.facts if subject is None or fact.subject == _resolve_subject(subject)]
    if conflicts:
        disputed = {(conflict.subject, conflict.attribute) for conflict in facts_catalog.conflicts}
        chosen = [fact for fact in chosen if fact.key in disputed]

    def table() -> None:
        headers = ["subject", "attribute", "value", "used", "as written", "read as", "source", "quote"]
        print_table(
            _insert_cell(headers, "differ in") if conflicts else headers,
            (_fact_cells(fact, is_conflict=conflicts) for fact in chosen),
            optional_columns=["used", "read as", "as written", "quote", "source"],
        )
        keys_by_note: dict[str, list[str]] = {}
        for key in dict.fromkeys(fact.key for fact in chosen if fact.key in facts_catalog.notes):
            keys_by_note.setdefault(facts_catalog.notes[key], []).append(" ".join(key))
        for note, keys in keys_by_note.items():
            print_wrapped(f"\n{', '.join(keys)}: {note}")

    print_value(style, [_fact_to_json(fact) for fact in chosen], table)


@click.command()
@format_option
def audit(style: str) -> None:
    """Compare derived numbers with those that documents print.

    \b
    trninv audit
    """
    checks = list(check_derivations(default_catalog()))

    def table() -> None:
        print_table(
            ["verdict", "subject", "attribute", "derived", "printed", "read as", "in", "derivation"],
            (
                [
                    check.verdict,
                    *check.printed.key,
                    check.derived,
                    _format_as_written(check.printed),
                    _format_reading(check.printed),
                    check.printed.source.title,
                    check.formula,
                ]
                for check in checks
            ),
            optional_columns=["read as", "in", "derivation"],
        )

    print_value(
        style,
        [
            {
                "verdict": check.verdict,
                "derived": check.derived,
                "formula": check.formula,
                "printed": _fact_to_json(check.printed),
            }
            for check in checks
        ],
        table,
    )


def _fact_to_json(fact: Fact) -> dict[str, Any]:
    facts_catalog = default_catalog()
    return {
        "subject": fact.subject,
        "attribute": fact.attribute.name,
        "value": str(fact),
        "exact": None if fact.value is None else str(fact.value),
        "asWritten": _format_as_written(fact),
        "quote": fact.quote,
        "readingUnit": fact.reading_unit,
        "readingDirection": fact.direction,
        "readingReason": fact.reading_reason,
        "note": facts_catalog.note(fact),
        "disputed": facts_catalog.is_disputed(fact),
        "differsIn": conflict_kind(facts_catalog.facts_about(*fact.key)),
        "assumed": fact.source.kind == "assumed",
        "source": {"title": fact.source.title},
    }


def _resolve_subject(name: str) -> str:
    """Return the subject with a name or with a system's alias, ignoring case."""
    subjects = {fact.subject for fact in default_catalog().facts}
    if name.lower() in subjects:
        return name.lower()
    if system := default_systems().by_name.get(name.lower()):
        return system.slug
    raise UnknownFactError(f"no facts about {name!r}: {suggestion(name.lower(), subjects)}")


def _format_as_written(fact: Fact) -> str:
    return f"{fact.as_written} {fact.unit}".rstrip()


def _written_cell(fact: Fact) -> str:
    return "(derived)" if fact.formula else _format_as_written(fact)


def _format_reading(fact: Fact) -> str:
    direction = {"one": "one direction", "both": "sum of both directions"}.get(fact.direction or "")
    return ", ".join(filter(None, [fact.reading_unit, direction]))


def _fact_cells(fact: Fact, *, is_conflict: bool) -> list[object]:
    facts = default_catalog().facts_about(*fact.key)
    is_used = facts[0] is fact  # the first is the default pick
    line: list[object] = [
        *fact.key,
        fact,
        "yes" if is_used else "",
        _written_cell(fact),
        _format_reading(fact),
        fact.source.title,
        fact.quote,
    ]
    return _insert_cell(line, conflict_kind(facts)) if is_conflict else line


def _insert_cell(line: Sequence[T], cell: T) -> list[T]:
    """Return a row of `facts` with a cell inserted after subject and attribute."""
    return [*line[:2], cell, *line[2:]]


def _abbreviate_parts(parts: Sequence[str]) -> Iterator[str]:
    """Yield addresses; join consecutive ones that differ only in their last number: "u-trn2x64/d0/s0/c0 to c15"."""
    for _, group in groupby(parts, key=lambda part: part.rstrip("0123456789")):
        first, *rest = group
        yield f"{first} to {rest[-1].rsplit('/', 1)[1]}" if rest else first


def _render_description(description: Description, *, shows_links: bool, shows_facts: bool) -> None:
    print_wrapped(f"{description.address} ({description.level})")
    print_table(["", ""], description.attributes.items())
    if description.parts:
        print_wrapped(f"\nparts: {', '.join(_abbreviate_parts(description.parts))}")
    if description.unhealthy:
        remark = " and others: trninv report unhealthy lists all" if description.has_more_unhealthy else ""
        print_wrapped(f"\nunhealthy: {', '.join(description.unhealthy)}{remark}")
    omitted = []
    if description.links and not shows_links:
        omitted.append(f"{pluralize(len(description.links), 'link')}: --links")
    if description.facts and not shows_facts:
        doubtful = sum(
            default_catalog().is_disputed(fact) or fact.source.kind == "assumed" for fact in description.facts
        )
        remark = f" ({doubtful} disputed or assumed)" if doubtful else ""
        omitted.append(f"{pluralize(len(description.facts), 'fact')}{remark}: --facts")
    if omitted:
        print_wrapped(f"\n{', '.join(omitted)}")
    if links := [link for link in description.links if shows_links or link.state != "up"]:
        click.echo()
        print_table(
            ["link to", "one direction", "technology", "lanes", "state"],
            ([link.to, link.bandwidth, link.technology, link.lanes, link.state] for link in links),
        )
    if description.facts and shows_facts:
        click.echo()
        facts_catalog = default_catalog()
        print_table(
            ["fact", "value", "as written", "read as", "source", ""],
            (
                [
                    " ".join(fact.key),
                    fact,
                    _written_cell(fact),
                    _format_reading(fact),
                    fact.source.title,
                    _dispute_mark(fact),
                ]
                for fact in description.facts
            ),
            optional_columns=["as written", "read as"],
        )
        for note in dict.fromkeys(filter(None, map(facts_catalog.note, description.facts))):
            print_wrapped(f"disputed: {note}")


def _dispute_mark(fact: Fact) -> str:
    return "disputed" if default_catalog().is_disputed(fact) else ""
