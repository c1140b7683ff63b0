"""Bind instances to slots, unbind them and list bindings."""

from collections.abc import Iterable, Sequence
from datetime import timedelta

import click

from trninv.catalog.instance_types import UNCLAIMED_REASON
from trninv.cli.database_connection import at_option, read_connection, write_connection
from trninv.cli.import_commands import print_unclaimed
from trninv.cli.messages import print_wrapped
from trninv.cli.output import format_option, print_table, print_value
from trninv.cli.progress_line import Progress
from trninv.cli.set_command import current_user
from trninv.cli.shell_completion import ADDRESS
from trninv.database.engine import read_transaction, temporary_engine, write_transaction
from trninv.errors import UsageError, WrongLevelError
from trninv.inventory.address.hostnames import DEFAULT_TEMPLATE
from trninv.inventory.address.lookup import Place, resolve_place
from trninv.inventory.state import bindings as slot_bindings
from trninv.inventory.state.bindings import Binding, BindingChanges, ProposedBinding
from trninv.inventory.state.bindings import list_bindings as listed
from trninv.reconcile.domain_assignment import UnassignedMachine
from trninv.reconcile.identification import MACHINE_EXPIRY, Identification, identify
from trninv.reconcile.latest_observations import pinned_binding

_HOUR = timedelta(hours=1)
_OPTIONAL_COLUMNS = ("confidence", "who", "method", "ended by", "ending")
_EMPTY_HINT = "no bindings: trninv bind --infer binds imported instances, trninv bind SLOT INSTANCE binds one"


@click.command()
@click.argument("slot", required=False, type=ADDRESS)
@click.argument("instance", required=False)
@click.option(
    "--infer", is_flag=True, help="Infer bindings from what was imported; SLOT is a cluster, or omitted for all."
)
@click.option("--in-order", is_flag=True, help="Assign slots that cannot be told apart in their order.")
@click.option(
    "--hostname",
    "template",
    default=DEFAULT_TEMPLATE,
    show_default=True,
    metavar="TEMPLATE",
    help="Host names of machines that are named after their slots.",
)
@click.option(
    "--max-age",
    "max_age_hours",
    type=click.FloatRange(0, 1e6),
    default=MACHINE_EXPIRY / _HOUR,
    show_default=True,
    metavar="HOURS",
    help="Ignore machines whose last report is this much older than the newest.",
)
@click.option("--dry-run", is_flag=True, help="Print the bindings without making them.")
@click.option("--who", default=current_user, show_default="you", help="Who makes the change.")
@format_option
@click.pass_obj
def bind(  # one parameter per option
    database: str,
    slot: str | None,
    instance: str | None,
    infer: bool,
    in_order: bool,
    template: str,
    max_age_hours: float,
    dry_run: bool,
    who: str,
    style: str,
) -> None:
    """Bind an instance to a slot, or infer bindings with --infer.

    SLOT is a server of the design; INSTANCE is an instance's id or the name of its host. Earlier bindings of the slot
    and of the instance end. Inference never guesses: an instance that fits several slots is listed with its candidates.

    \b
    trninv bind lab/d0/s1 i-0123456789abcdef0
    trninv bind --infer lab --dry-run
    trninv bind --infer
    """
    if infer == (instance is not None) or (slot is None and not infer):
        raise UsageError("bind needs SLOT and INSTANCE, or --infer [CLUSTER]")
    with (
        Progress("bind"),
        temporary_engine(database) as engine,
        (read_transaction if dry_run else write_transaction)(engine) as connection,
    ):
        if instance is not None and slot is not None:
            identified = Identification((pinned_binding(connection, slot, instance),), ())
        else:
            place = None if slot is None else _require_cluster(resolve_place(connection, slot))
            expiry = timedelta(hours=max_age_hours)
            identified = identify(connection, place, template=template, expiry=expiry, in_order=in_order)
        bound = BindingChanges() if dry_run else slot_bindings.bind(connection, identified.proposed_bindings, who=who)
    bindings_made = identified.proposed_bindings if dry_run else bound.created
    answer = {
        "bound": bindings_made,
        "ended": bound.ended,
        "unplaced": identified.unassigned,
        "unclaimed": identified.unclaimed_types,
    }
    print_value(style, answer, lambda: _render_result(bindings_made, bound.ended, identified, dry_run=dry_run))


@click.command()
@click.argument("slot", type=ADDRESS)
@click.option("--who", default=current_user, show_default="you", help="Who makes the change.")
@format_option
@click.pass_obj
def unbind(database: str, slot: str, who: str, style: str) -> None:
    """End the binding of a slot.

    An inferred binding is not inferred again from the same observations.

    \b
    trninv unbind lab/d0/s1
    trninv unbind @i-0123456789abcdef0
    """
    with write_connection(database) as connection:
        ended = slot_bindings.unbind(connection, slot, who=who)
    print_value(style, ended, lambda: print_wrapped(f"{ended.address}: {_instance_name(ended)} is no longer bound"))


@click.command()
@click.argument("scope", required=False, type=ADDRESS)
@click.option("--ended", is_flag=True, help="Include ended bindings.")
@at_option
@format_option
@click.pass_obj
def bindings(database: str, scope: str | None, ended: bool, as_of: str | None, style: str) -> None:
    """List bindings: which instance is in which slot, since when.

    \b
    trninv bindings lab/d0
    trninv bindings @i-0123456789abcdef0 --ended
    """
    with read_connection(database, as_of, scope) as connection:
        entries = list(listed(connection, None if scope is None else resolve_place(connection, scope), ended=ended))
    headers = ["slot", "instance", "host", "since", "method", "confidence", "who"]
    ended_headers = ["until", "ending", "ended by"] if ended else []
    print_value(
        style,
        entries,
        lambda: print_table(
            [*headers, *ended_headers],
            (_binding_cells(binding, ended=ended) for binding in entries),
            optional_columns=_OPTIONAL_COLUMNS,
            empty_text=_EMPTY_HINT,
        ),
    )


def _require_cluster(place: Place) -> Place:
    if place.level != "cluster":
        raise WrongLevelError(
            f"{place.address} is a {place.level}; --infer takes a cluster, or nothing for all clusters"
        )
    return place


def _binding_cells(binding: Binding, *, ended: bool) -> Iterable[object]:
    yield from (
        binding.address,
        binding.instance,
        binding.host,
        binding.started_at,
        binding.method,
        binding.confidence,
        binding.who,
    )
    if ended:
        yield from (binding.ended_at, binding.ending, binding.ended_by)


def _instance_name(binding: Binding | ProposedBinding) -> str:
    return " ".join(filter(None, (binding.instance, binding.host)))


def _render_result(
    bindings_made: Sequence[Binding | ProposedBinding],
    ended: Sequence[Binding],
    identified: Identification,
    *,
    dry_run: bool,
) -> None:
    unplaced = [item for item in identified.unassigned if item.why != UNCLAIMED_REASON]
    if bindings_made:
        cells = (
            [item.address, item.instance, item.host, item.method, item.confidence, item.evidence]
            for item in bindings_made
        )
        print_table(
            ["would be bound to" if dry_run else "slot", "instance", "host", "method", "confidence", "by"], cells
        )
    elif not unplaced:
        print_wrapped("no new bindings: every reported machine is bound already")
    for item in ended:
        print_wrapped(f"{item.address}: {_instance_name(item)} is no longer bound ({item.ending})")
    if unplaced:
        click.echo()
        print_table(
            ["without a slot", "why", "candidates"],
            ([item.name, item.why, _render_candidates(item)] for item in unplaced),
        )
    print_unclaimed(identified.unclaimed_types)


def _render_candidates(unplaced: UnassignedMachine) -> str:
    more = unplaced.count - len(unplaced.candidates)
    return ", ".join(unplaced.candidates) + (f" and {more:,} more" if more else "")
