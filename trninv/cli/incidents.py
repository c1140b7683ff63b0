"""incidents: what is not up, grouped by what brought it about, and what it costs."""

from collections.abc import Iterator
from typing import Final

import click

import trninv
from trninv.cli.moment import at_option
from trninv.cli.output import encode, format_option, rows, show
from trninv.cli.places import PLACE
from trninv.cli.progress import Progress
from trninv.cli.prose import hint, say
from trninv.cli.status import is_without
from trninv.incidents.model import DomainImpact, Impact, Incident
from trninv.jobs.fleet import Fleet
from trninv.units import counted

HEADERS: Final = ("incident", "severity", "place", "what", "rule", "since", "who", "why")
SPARE: Final = ("rule", "who", "severity")
"""Columns that a narrow terminal does without."""
UNSEEDED: Final = "nothing is seeded yet: trninv seed"
KINDS: Final = {"nic": "NIC", "network_node": "network node"}


@click.command()
@click.argument("scope", required=False, metavar="[SCOPE]", type=PLACE)
@click.option(
    "--impact", "with_impact", is_flag=True, help="What each costs: chips, memory, jobs, what domains can do."
)
@at_option
@format_option
@click.pass_obj
def incidents(database: str, scope: str | None, with_impact: bool, at: str | None, style: str) -> None:
    """What is not up, grouped by what brought it about: the worst first, of those the latest.

    A server with what is in it is one incident, so is one change, and so are changes within one rack and five minutes.
    The number of an incident is that of its first change, and stays while it lasts: TIME may be one.

    \b
    trninv incidents
    trninv incidents u-trn2x64/d0 --impact
    trninv incidents --at 2026-11-22T02:00:00Z
    """
    with trninv.open(database) as present:
        fleet = present if at is None else present.at(at)
        with fleet.in_one_state() as one, Progress("incidents"):
            found = one.incidents(scope)
            is_empty = not found and is_unseeded(one)
            costs = [one.impact(each) for each in found] if with_impact else []
    value = [encode(each) for each in found]
    for each, cost in zip(value, costs, strict=False):
        each["impact"] = encode(cost)
    show(style, value, lambda: say(UNSEEDED) if is_empty else _tell(found, costs, scope))


def is_unseeded(fleet: Fleet) -> bool:
    """Whether there is no cluster."""
    with fleet.reading() as connection:
        return is_without(connection, "cluster")


def _tell(found: list[Incident], costs: list[Impact], scope: str | None) -> None:
    if not found:
        say("everything is up" if scope is None else f"{scope}: everything is up")
        return
    rows(HEADERS, (cells(each) for each in found), spare=SPARE)
    if not costs:
        hint(f"what each costs: trninv incidents{'' if scope is None else f' {scope}'} --impact")
    for each, cost in zip(found, costs, strict=False):
        click.echo()
        for line in _costs(each, cost):
            say(line)


def cells(of: Incident) -> list[object]:
    """An incident as a line below `HEADERS`."""
    what = ", ".join(f"{counted(part.count, KINDS.get(part.kind, part.kind))} {_in(part.state)}" for part in of.parts)
    standing = [each.instance or each.host for each in of.standing]
    place = f"{of.place or 'several clusters'}{f' ({standing[0]})' if len(standing) == 1 else ''}"
    return [of.id, of.severity.lower(), place, what, of.rule.lower(), of.since, of.who, of.why]


def _in(state: str) -> str:
    return "in maintenance" if state == "maintenance" else state


def _costs(of: Incident, cost: Impact) -> Iterator[str]:
    lost = f"{counted(cost.chips, 'chip')} with {counted(cost.cores, 'core')} and {cost.memory} carry nothing"
    yield f"incident {of.id}: {lost}"
    for job in cost.jobs:
        yield f"  job {job.name}: {job.touched:,} of its {counted(job.chips, 'chip')}"
    for domain in cost.domains:
        yield from _changed(domain)
    if cost.truncated:
        yield (
            f"  left out: {cost.domain_count - len(cost.domains):,} of {counted(cost.domain_count, 'domain')}, "
            f"{cost.job_count - len(cost.jobs):,} of {counted(cost.job_count, 'job')}"
        )


def _changed(of: DomainImpact) -> Iterator[str]:
    compared = f", not comparable: {of.incomparable}" if of.incomparable else ""
    yield f"  {of.domain}: with its parts up → now"
    yield f"    chips {of.chips_before:,} → {of.chips_now:,}"
    yield f"    links that carry nothing {of.idle_links_before:,} → {of.idle_links_now:,}"
    yield f"    largest pool {of.pool_before} → {of.pool_now}"
    yield f"    bisection {of.bisection_before} → {of.bisection_now}{compared}"
    yield f"    all-gather {of.all_gather_before} → {of.all_gather_now}"
