"""Compare observations with the design."""

from dataclasses import replace
from datetime import timedelta

import click

from trninv.cli.import_commands import print_unclaimed
from trninv.cli.messages import print_hint, print_wrapped
from trninv.cli.output import format_option, print_table, print_value
from trninv.cli.progress_line import Progress
from trninv.cli.shell_completion import ADDRESS
from trninv.cli.status_command import is_table_empty
from trninv.database.engine import temporary_engine, write_transaction
from trninv.database.finding_rules import SEVERITIES
from trninv.reconcile.drift import DriftResult
from trninv.reconcile.drift import detect_drift as compared
from trninv.reconcile.findings import Finding, list_findings
from trninv.units import pluralize

_MAX_MINUTES = 60 * 24 * 366


@click.command()
@click.argument("scope", required=False, metavar="[SCOPE]", type=ADDRESS)
@click.option("--fail-on", type=click.Choice(SEVERITIES), help="Exit with 1 if a finding has at least this severity.")
@click.option("--apply", "is_applied", is_flag=True, help="Set parts down that findings report as failed.")
@click.option("--include-cleared", is_flag=True, help="Include cleared findings.")
@click.option(
    "--stale-after",
    type=click.IntRange(1, _MAX_MINUTES),
    default=60,
    show_default=True,
    metavar="MINUTES",
    help="Maximum age of a source's newest observation.",
)
@format_option
@click.pass_obj
def drift(  # one parameter per option
    database: str,
    scope: str | None,
    fail_on: str | None,
    is_applied: bool,
    include_cleared: bool,
    stale_after: int,
    style: str,
) -> None:
    """Compare reported machines with the design.

    The most severe findings come first. Everything is compared and recorded (view v_drift, GraphQL drift); SCOPE limits
    what is listed and applied. With --apply, missing or tainted chips, servers that are gone or unhealthy, and link
    ends that are down are set down, with the source as who and the finding as why. Nothing is ever set up.

    \b
    trninv drift
    trninv drift rainier/d17 --fail-on high
    trninv drift --apply
    """
    with temporary_engine(database) as engine, write_transaction(engine) as connection, Progress("drift") as progress:
        max_age = timedelta(minutes=stale_after)
        result = compared(connection, stale_after=max_age, scope=scope, apply=is_applied, progress=progress)
        listed = list_findings(connection, scope, include_cleared=include_cleared)
        has_no_observations = is_table_empty(connection, "observation")
    print_value(style, replace(result, findings=tuple(listed)), lambda: _render_findings(listed, result))
    if has_no_observations and style == "table":
        print_hint("no observations yet: trninv import --help")
    if fail_on and any(SEVERITIES.index(finding.severity) >= SEVERITIES.index(fail_on) for finding in result.findings):
        raise click.exceptions.Exit(1)


def _render_findings(listed: list[Finding], result: DriftResult) -> None:
    if listed:
        headers = ["severity", "rule", "address", "instance", "expected", "observed", "since"]
        columns = ("severity", "rule", "address", "instance", "expected", "observed", "first_seen")
        ended_headers = ["until"] if any(finding.cleared_at for finding in listed) else []
        fields = (*columns, *(["cleared_at"] if ended_headers else []))
        print_table(
            headers + ended_headers,
            ((getattr(finding, name) for name in fields) for finding in listed),
            optional_columns=["since", "rule"],
        )
        click.echo()
    for change in result.applied_changes:
        print_wrapped(f"{change.address}: {change.before} → {change.after}")
    if result.uncompared_servers:
        rules = ", ".join(f"{rule} of {count:,}" for rule, count in result.uncompared_servers.items())
        print_wrapped(
            f"not compared: {rules} of {pluralize(result.bound_servers, 'server')}: no current source reports it"
        )
    print_wrapped(
        f"{pluralize(len(result.findings), 'finding')}; {result.new_count} new, {result.cleared_count} cleared"
    )
    print_unclaimed(result.unclaimed_types)
