"""Compare observations with the design, and list the findings (`drift`)."""

from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any

import click

from trninv.cli.change_commands import (
    MAX_JOBS,
    build_command,
    change_arguments,
    jobs_on,
    print_result,
    render_hit_jobs,
    request_change,
)
from trninv.cli.database_connection import open_fleet, write_connection
from trninv.cli.messages import print_hint
from trninv.cli.status_command import is_table_empty
from trninv.database.finding_rules import SEVERITIES
from trninv.placement.allocations.job_allocations import Job, list_jobs
from trninv.reconcile.changes.detect_drift import detect_drift
from trninv.reconcile.findings import list_findings
from trninv.settings import is_service


@click.pass_obj
def _run_drift(
    database: str, /, style: str, fail_on: str | None, *, include_cleared: bool, dry_run: bool, **values: Any
) -> None:
    if is_service(database):
        result = request_change(database, detect_drift, values, dry_run=dry_run)
        findings, has_no_observations, hit_jobs = list(result.findings), False, list[Job]()
        if include_cleared or result.applied_changes:
            with open_fleet(database) as fleet:
                hit_jobs = jobs_on(result.applied_changes, fleet.jobs)
                if include_cleared:
                    findings = list(fleet.drift(values["scope"], include_cleared=True))
    else:
        with write_connection(database, commits=not dry_run) as (connection, progress):
            result = detect_drift(connection, **change_arguments(detect_drift, values, progress))
            has_no_observations = is_table_empty(connection, "observation")
            findings = list_findings(connection, values["scope"], include_cleared=include_cleared)
            hit_jobs = jobs_on(result.applied_changes, partial(list_jobs, connection, limit=MAX_JOBS))
    listed = replace(result, findings=tuple(findings))
    text = chain(detect_drift.render(listed), render_hit_jobs(hit_jobs))
    print_result(style, listed, text, dry_run=dry_run)
    if has_no_observations and style == "table":
        print_hint("no observations yet: trninv import --help")
    if fail_on and any(SEVERITIES.index(finding.severity) >= SEVERITIES.index(fail_on) for finding in result.findings):
        raise click.exceptions.Exit(1)


drift = build_command(
    detect_drift,
    _run_drift,
    click.Option(
        ["--fail-on"],
        type=click.Choice(SEVERITIES),
        help="Exit with 1 if a finding has at least this severity.",
    ),
    click.Option(["--include-cleared"], is_flag=True, help="Also list cleared findings."),
)
