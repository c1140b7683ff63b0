"""adopt: a cluster out of what was imported."""

from collections import defaultdict

import click

from trninv.catalog.facts import catalog
from trninv.catalog.models import systems
from trninv.cli.output import format_option, rows, show
from trninv.cli.progress import Progress
from trninv.cli.prose import say
from trninv.inventory.database import connect, writing
from trninv.live.adopt import Adopted
from trninv.live.adopt import adopt as adopted
from trninv.units import counted

_MOST_NAMED = 3


@click.command()
@click.argument("name")
@click.option("--dry-run", is_flag=True, help="Only say what it would be made of.")
@format_option
@click.pass_obj
def adopt(database: str, name: str, dry_run: bool, style: str) -> None:
    """Make a cluster NAME out of what was imported, or let it grow: by every instance that stands in no slot yet.

    Instances of one UltraServer or capacity block make a domain, any other is one by itself; a slot of a domain in
    which none was seen is down. The fabric is what network nodes the instances name, by the ids that EC2 has for them;
    their uplinks are assumed to carry as much as all EFA devices below them. Again, it adds what came since: to empty
    slots of the domains there are, else as domains after these. What there is keeps its address, state, jobs and
    instance; its history is asked of from then on.

    \b
    trninv adopt prod --dry-run
    trninv adopt prod
    """
    with connect(database) as engine, Progress(name) as progress, writing(engine) as connection:
        found = adopted(connection, catalog(), systems(), name, progress, dry_run=dry_run)
    show(style, found, lambda: _table(found, dry_run=dry_run))


def _table(found: Adopted, *, dry_run: bool) -> None:
    filled = f", {'would be ' * dry_run}up again: {', '.join(found.filled)}" if found.filled else ""
    say(f"{found.cluster}: {_done(found, dry_run=dry_run)}{filled}")
    if found.models:
        rows(
            ["model", "domains", "instances", "empty slots"],
            ((each.model, each.domains, each.machines, each.empty) for each in found.models),
        )
    if ordered := sum(each.ordered for each in found.models):
        say(f"{counted(ordered, 'instance')} of UltraServers in the order of their ids: nothing says which is where")
    if found.tiers:
        tiers = ", ".join(f"{count:,} in tier {tier}" for tier, count in enumerate(found.tiers, start=1))
        say(f"network nodes: {tiers}; what their uplinks carry is assumed: as much as all EFA devices below them")
    if found.tiers and found.tiers[0] > (not found.is_known):
        say("nothing that was imported joins the network nodes in tier 1: no path leads from one to another")
    _left_out(found)


def _done(found: Adopted, *, dry_run: bool) -> str:
    if not found.is_known:
        return "would be adopted" if dry_run else "adopted"
    if not found.models:
        return "adopted already"
    return "would grow by" if dry_run else "has grown by"


def _left_out(found: Adopted) -> None:
    for why, names in _by_reason(found).items():
        more = ", …" if len(names) > _MOST_NAMED else ""
        say(f"left out: {counted(len(names), 'machine')} ({', '.join(names[:_MOST_NAMED])}{more}): {why}")


def _by_reason(found: Adopted) -> dict[str, list[str]]:
    reasons = defaultdict[str, list[str]](list)
    for name, why in found.left_out:
        reasons[why].append(name)
    return reasons
