"""Create a cluster from imported instances."""

from collections import defaultdict

import click

from trninv.catalog.facts import default_catalog
from trninv.catalog.models import default_systems
from trninv.cli.messages import print_wrapped
from trninv.cli.output import format_option, print_table, print_value
from trninv.cli.progress_line import Progress
from trninv.database.engine import temporary_engine, write_transaction
from trninv.reconcile.adoption import AdoptionResult
from trninv.reconcile.adoption import adopt as adopted
from trninv.units import pluralize

_MAX_NAMES = 3


@click.command()
@click.argument("name")
@click.option("--dry-run", is_flag=True, help="Print the result without changing anything.")
@format_option
@click.pass_obj
def adopt(database: str, name: str, dry_run: bool, style: str) -> None:
    """Create or extend cluster NAME from imported instances.

    Every instance without a slot is added. Instances of one UltraServer or capacity block form a domain; any other
    instance is a domain of its own. A slot without an instance is down. The fabric consists of the network nodes that
    the instances name, by their EC2 ids; each uplink is assumed to carry as much as all EFA devices below it.
    If the cluster exists, new instances fill its empty slots, then form new domains after the last. Existing parts
    keep their addresses, states, jobs and instances.

    \b
    trninv adopt prod --dry-run
    trninv adopt prod
    """
    with temporary_engine(database) as engine, Progress(name) as progress, write_transaction(engine) as connection:
        result = adopted(connection, default_catalog(), default_systems(), name, progress, dry_run=dry_run)
    print_value(style, result, lambda: _render_result(result, dry_run=dry_run))


def _render_result(result: AdoptionResult, *, dry_run: bool) -> None:
    filled_slots = f", {'would be ' * dry_run}up again: {', '.join(result.filled_slots)}" if result.filled_slots else ""
    print_wrapped(f"{result.cluster}: {_verb(result, dry_run=dry_run)}{filled_slots}")
    if result.models:
        print_table(
            ["model", "domains", "instances", "empty slots"],
            ((model.model, model.domains, model.machines, model.empty_slots) for model in result.models),
        )
    if ordered_by_id := sum(model.placed_by_order for model in result.models):
        print_wrapped(
            f"{pluralize(ordered_by_id, 'instance')} of UltraServers placed in the order of their ids: no source "
            "reports their slots"
        )
    if result.tiers:
        tiers = ", ".join(f"{count:,} in tier {tier}" for tier, count in enumerate(result.tiers, start=1))
        print_wrapped(f"network nodes: {tiers}; each uplink is assumed to carry as much as all EFA devices below it")
    if result.tiers and result.tiers[0] > (not result.is_extended):
        print_wrapped("no imported node connects the network nodes in tier 1: there are no paths between them")
    _render_omitted(result)


def _verb(result: AdoptionResult, *, dry_run: bool) -> str:
    if not result.is_extended:
        return "would be adopted" if dry_run else "adopted"
    if not result.models:
        return "already adopted"
    return "would grow by" if dry_run else "has grown by"


def _render_omitted(result: AdoptionResult) -> None:
    for reason, names in _names_by_reason(result).items():
        ellipsis = ", …" if len(names) > _MAX_NAMES else ""
        print_wrapped(
            f"omitted: {pluralize(len(names), 'machine')} ({', '.join(names[:_MAX_NAMES])}{ellipsis}): {reason}"
        )


def _names_by_reason(result: AdoptionResult) -> dict[str, list[str]]:
    reasons = defaultdict[str, list[str]](list)
    for name, reason in result.skipped:
        reasons[reason].append(name)
    return reasons
