"""Compare observations with the design, record the findings and, if requested, set failed parts down."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Annotated, Final

from sqlalchemy import Connection

from trninv.catalog.instance_types import render_unclaimed
from trninv.database.finding_rules import failed_parts
from trninv.database.tables import CARRYING_STATES
from trninv.deadline import Progress, silent
from trninv.inventory.change import change
from trninv.inventory.parameter import Argument
from trninv.inventory.schema.things import THINGS
from trninv.inventory.state.author import check_author
from trninv.reconcile import drift
from trninv.reconcile.drift import Comparison, DriftResult
from trninv.reconcile.drift_input import STALE_AFTER
from trninv.reconcile.findings import Finding
from trninv.rendered_text import Rendered, RenderedTable
from trninv.units import pluralize

_MINUTE: Final = timedelta(minutes=1)
_MAX_MINUTES: Final = 60 * 24 * 366
"""The minutes of a leap year."""
_MAX_MACHINES: Final = 3
"""The most machines that a line of text names."""


def _render(result: DriftResult) -> Rendered:
    if result.findings:
        columns = THINGS["finding"].table_columns(everything=any(entry.cleared_at for entry in result.findings))
        cells = ([getattr(finding, name) for name in columns] for finding in result.findings)
        # a narrow terminal omits columns from the last one, but never the first two
        yield RenderedTable(columns, cells, optional_columns=columns[:1:-1])
        yield ""
    yield from (f"{part.address}: {part.before} → {part.after}" for part in result.applied_changes)
    yield from _render_unnumbered(result.findings)
    yield from _render_reported_up(result.findings)
    if result.uncompared_servers:
        rules = ", ".join(f"{entry.rule} for {entry.count:,}" for entry in result.uncompared_servers)
        servers = pluralize(result.bound_servers, "server")
        why = "no current source reports the value, or sources disagree on the type"
        yield f"not compared: {rules} of {servers}; {why}"
    count = sum(finding.cleared_at is None for finding in result.findings)
    yield f"{pluralize(count, 'finding')}; {result.new_count} new, {result.cleared_count} cleared"
    yield from render_unclaimed(result.unclaimed_types)


def _render_unnumbered(findings: Sequence[Finding]) -> Rendered:
    """Say which findings of missing chips --apply leaves alone, and what to import so that it does not."""
    slots = [
        entry
        for entry in findings
        if entry.rule == "chip-missing"
        and not entry.cleared_at
        and not failed_parts(entry.rule, entry.address, entry.observed)
    ]
    if slots:
        machines = [str(entry.instance or entry.address) for entry in slots[:_MAX_MACHINES]]
        if len(slots) > len(machines):
            machines.append(f"{len(slots) - len(machines):,} more")
        yield (
            f"chip-missing at {pluralize(len(slots), 'server')}: no source says which chip, so --apply sets none down; "
            f"import neuron-ls of {', '.join(machines)}"
        )


def _render_reported_up(findings: Sequence[Finding]) -> Rendered:
    """Say how to set servers up that are down or in maintenance here and up by a manager: --apply never does."""
    slots = [
        str(entry.address)
        for entry in findings
        if entry.rule == "state-differs" and not entry.cleared_at and entry.expected not in CARRYING_STATES
    ]
    if slots:
        more = f" ({len(slots) - _MAX_MACHINES:,} more)" if len(slots) > _MAX_MACHINES else ""
        yield (
            f"state-differs at {pluralize(len(slots), 'server')}: --apply sets none up; if the repair is done: "
            f"trninv set {' '.join(slots[:_MAX_MACHINES])} up --why REASON{more}"
        )


def _prepare(
    connection: Connection, *, stale_after: int = STALE_AFTER // _MINUTE, apply: bool = False, **_: object
) -> Comparison | None:
    """Compare before the write transaction, which others wait for; states are applied only to what it compares."""
    return None if apply else drift.compare(connection, stale_after=stale_after * _MINUTE)


@change(
    scope="operate",
    returns={
        "findings": "Open findings within the scope, most severe first.",
        "new_count": "Number of new findings, regardless of the scope.",
        "cleared_count": "Number of findings that ended, regardless of the scope.",
        "applied_changes": "Parts that were set down or in maintenance.",
        "uncompared_servers": "Rules that could not compare servers: no current source reports the value, or "
        "sources disagree on the type.",
        "bound_servers": "Number of servers with an instance.",
        "unclaimed_types": "Instance types of recently observed machines without a slot that no model claims.",
    },
    undo="`trninv set ADDRESS… up --why REASON` for the parts that it set; the next comparison replaces the findings.",
    command="drift",
    render=_render,
    prepare=_prepare,
    examples=("drift", "drift rainier/d17 --fail-on high", "drift --apply --dry-run"),
)
def detect_drift(
    connection: Connection,
    scope: Annotated[
        str | None,
        Argument(
            "Place whose findings are listed and applied; by default the whole fleet.",
            positional=True,
            metavar="[SCOPE]",
        ),
    ] = None,
    *,
    who: str = "",
    apply: Annotated[bool, Argument("Whether to set failed parts down.")] = False,
    stale_after: Annotated[
        int,
        Argument(
            "Age in minutes beyond which observations count as stale.",
            minimum=1,
            maximum=_MAX_MINUTES,
            metavar="MINUTES",
        ),
    ] = STALE_AFTER // _MINUTE,
    progress: Progress = silent,
    prepared: Comparison | None = None,
) -> DriftResult:
    """Compare reported machines with the design.

    The whole fleet is always compared and its findings recorded (view v_drift, GraphQL drift). With apply, parts that
    findings report as failed are set down: missing or tainted chips, missing or unhealthy servers, and links that a
    server reports as down. Each event names the finding and its sources as why. No part is ever set back to up.
    """
    if apply:
        check_author(who)
    return drift.detect_drift(
        connection,
        scope,
        stale_after=stale_after * _MINUTE,
        apply_as=who if apply else None,
        progress=progress,
        comparison=prepared,
    )
