"""bind, unbind, bindings: which instance stands in which slot."""

from collections.abc import Iterable, Sequence
from datetime import timedelta

import click

from trninv.catalog.instance_types import UNCLAIMED
from trninv.cli.moment import at_option, changing, looking
from trninv.cli.output import format_option, rows, show
from trninv.cli.places import PLACE
from trninv.cli.progress import Progress
from trninv.cli.prose import say
from trninv.cli.state import you
from trninv.cli.unclaimed import say_unclaimed
from trninv.errors import UsageError, WrongLevelError
from trninv.inventory.address import Place, resolve
from trninv.inventory.binding import Binding, Bound, Standing, put, take_out
from trninv.inventory.binding import bindings as listed
from trninv.inventory.database import connect, reading, writing
from trninv.inventory.hostnames import TEMPLATE
from trninv.live.anchors import Unplaced
from trninv.live.identity import WITHIN, Identified, identify
from trninv.live.pins import pin

_HOUR = timedelta(hours=1)
_SPARE = ("confidence", "who", "how", "ended by", "ending")
_NONE = "nothing stands here: trninv bind --infer binds what trninv import has read, trninv bind SLOT INSTANCE one"


@click.command()
@click.argument("slot", required=False, type=PLACE)
@click.argument("instance", required=False)
@click.option("--infer", is_flag=True, help="Find slots by what was imported; SLOT is the cluster, or none for all.")
@click.option("--in-order", is_flag=True, help="Take places that nothing tells apart in their order.")
@click.option(
    "--hostname",
    "template",
    default=TEMPLATE,
    show_default=True,
    metavar="TEMPLATE",
    help="What hosts are called that are called after their slots.",
)
@click.option(
    "--seen-within",
    type=click.FloatRange(0, 1e6),
    default=WITHIN / _HOUR,
    show_default=True,
    metavar="HOURS",
    help="Take machines for gone that were seen last so long before the others.",
)
@click.option("--dry-run", is_flag=True, help="Only say what would be bound.")
@click.option("--who", default=you, show_default="you", help="Who says so.")
@format_option
@click.pass_obj
def bind(  # one parameter an option
    database: str,
    slot: str | None,
    instance: str | None,
    infer: bool,
    in_order: bool,
    template: str,
    seen_within: float,
    dry_run: bool,
    who: str,
    style: str,
) -> None:
    """Say which instance stands in which slot, a server of the design; --infer finds that out by what was imported.

    INSTANCE is an instance's id or the name of its host. Whatever stood in the slot before ends, and so does where the
    instance stood. An inference is never a guess: what nothing tells apart is listed with the slots that it may be in.

    \b
    trninv bind lab/d0/s1 i-0123456789abcdef0
    trninv bind --infer lab --dry-run
    trninv bind --infer
    """
    if infer == (instance is not None) or (slot is None and not infer):
        raise UsageError("write trninv bind SLOT INSTANCE, or trninv bind --infer [CLUSTER]")
    with Progress("bind"), connect(database) as engine, (reading if dry_run else writing)(engine) as connection:
        if instance is not None and slot is not None:
            found = Identified((pin(connection, slot, instance),), ())
        else:
            place = None if slot is None else _cluster(resolve(connection, slot))
            within = timedelta(hours=seen_within)
            found = identify(connection, place, template=template, within=within, in_order=in_order)
        bound = Bound() if dry_run else put(connection, found.standings, who=who)
    made = found.standings if dry_run else bound.made
    answer = {"bound": made, "ended": bound.ended, "unplaced": found.unplaced, "unclaimed": found.unclaimed}
    show(style, answer, lambda: _print(made, bound.ended, found, dry_run=dry_run))


@click.command()
@click.argument("slot", type=PLACE)
@click.option("--who", default=you, show_default="you", help="Who says so.")
@format_option
@click.pass_obj
def unbind(database: str, slot: str, who: str, style: str) -> None:
    """Say that nothing stands in a slot; what was inferred is not inferred again from the same.

    \b
    trninv unbind lab/d0/s1
    trninv unbind @i-0123456789abcdef0
    """
    with changing(database) as connection:
        ended = take_out(connection, slot, who=who)
    show(style, ended, lambda: say(f"{ended.address}: {_name(ended)} stands there no more"))


@click.command()
@click.argument("scope", required=False, type=PLACE)
@click.option("--ended", is_flag=True, help="Those that are over, too.")
@at_option
@format_option
@click.pass_obj
def bindings(database: str, scope: str | None, ended: bool, at: str | None, style: str) -> None:
    """Which instances stand where, since when, and how that is known.

    \b
    trninv bindings lab/d0
    trninv bindings @i-0123456789abcdef0 --ended
    """
    with looking(database, at, scope) as connection:
        found = list(listed(connection, None if scope is None else resolve(connection, scope), ended=ended))
    headers = ["slot", "instance", "host", "since", "how", "confidence", "who"]
    over = ["until", "ending", "ended by"] if ended else []
    show(
        style,
        found,
        lambda: rows([*headers, *over], (_line(each, ended=ended) for each in found), spare=_SPARE, none=_NONE),
    )


def _cluster(place: Place) -> Place:
    if place.level != "cluster":
        raise WrongLevelError(f"{place.address} is a {place.level}: --infer takes a whole cluster, or all of them")
    return place


def _line(of: Binding, *, ended: bool) -> Iterable[object]:
    yield from (of.address, of.instance, of.host, of.since, of.how, of.confidence, of.who)
    if ended:
        yield from (of.until, of.ending, of.ended_by)


def _name(of: Binding | Standing) -> str:
    return " ".join(filter(None, (of.instance, of.host)))


def _print(made: Sequence[Binding | Standing], ended: Sequence[Binding], found: Identified, *, dry_run: bool) -> None:
    left = [each for each in found.unplaced if each.why != UNCLAIMED]
    if made:
        lines = ([each.address, each.instance, each.host, each.how, each.confidence, each.evidence] for each in made)
        rows(["would stand in" if dry_run else "slot", "instance", "host", "how", "confidence", "by"], lines)
    elif not left:
        say("nothing is new: every machine that was seen stands where it stood")
    for each in ended:
        say(f"{each.address}: {_name(each)} stands there no more ({each.ending})")
    if left:
        click.echo()
        rows(["in no slot", "why", "may be in"], ([each.name, each.why, _candidates(each)] for each in left))
    say_unclaimed(found.unclaimed)


def _candidates(of: Unplaced) -> str:
    more = of.count - len(of.candidates)
    return ", ".join(of.candidates) + (f" and {more:,} more" if more else "")
