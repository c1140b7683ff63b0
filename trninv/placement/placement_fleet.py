"""Define `Fleet`, the open database that `trninv.open` returns: placement questions, jobs, cordons and incidents.

Its base class answers the questions about wiring.
"""

from typing import TYPE_CHECKING, Any, TypeVar

from trninv.database.engine import write_transaction
from trninv.database.revision import revision_id
from trninv.errors import InvalidArgumentError
from trninv.history.point_in_time import parse_time
from trninv.placement.change_methods import ChangeMethods
from trninv.placement.placement_methods import PlacementMethods
from trninv.routing import fleet
from trninv.routing.picture import Highlight, Picture
from trninv.routing.question_methods import reading
from trninv.routing.tabular import RowList

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from trninv.database.query_result import QueryResult
    from trninv.importers.ingestion import ImportFile
    from trninv.incidents.model import ClosedIncident, Impact, Incident, RelatedFinding
    from trninv.inventory.change import Change
    from trninv.inventory.database_contents import DatabaseContents
    from trninv.inventory.schema.description import Description
    from trninv.placement.allocations.job_allocations import Job
    from trninv.placement.allocations.job_import import JobImportResult
    from trninv.placement.allocations.server_cordons import Cordon

R = TypeVar("R")


class Fleet(PlacementMethods, ChangeMethods, fleet.BaseFleet):
    """An open trninv database for questions and allocations; thread-safe, and answers are never stale."""

    def make_change(self, change: "Change[..., R]", *arguments: Any, dry_run: bool = False, **keywords: Any) -> R:
        """Make a declared change in a transaction of its own; see `trninv.inventory.change.Change.run`."""
        return change.run(self.engine, *arguments, dry_run=dry_run, **keywords)

    @reading
    def incidents(self, scope: str | None = None) -> "RowList[Incident]":
        """List incidents of a place or of all: unhealthy parts grouped by root cause, the worst first."""
        from trninv.incidents.grouping import list_incidents  # noqa: PLC0415 # loaded on first use
        from trninv.incidents.model import Incident  # noqa: PLC0415

        with self.connect() as connection:
            return RowList(list_incidents(connection, scope), Incident)

    @reading
    def closed_incidents(self, scope: str | None = None) -> "RowList[ClosedIncident]":
        """List the last 200 incidents of a place or of all that have closed, the latest first."""
        from trninv.incidents.closed_incidents import list_closed_incidents  # noqa: PLC0415 # loaded on first use
        from trninv.incidents.model import ClosedIncident  # noqa: PLC0415

        with self.connect() as connection:
            return RowList(list_closed_incidents(connection, scope), ClosedIncident)

    @reading
    def unapplied_findings(self, scope: str | None = None) -> "RowList[RelatedFinding]":
        """List open high findings of drift on parts of a place or of all that are up, which no incident shows."""
        from trninv.incidents.model import RelatedFinding  # noqa: PLC0415 # loaded on first use
        from trninv.incidents.unapplied_findings import list_unapplied_findings  # noqa: PLC0415

        with self.connect() as connection:
            return RowList(list_unapplied_findings(connection, scope), RelatedFinding)

    @reading
    def impact(self, incident: "Incident") -> "Impact":
        """Estimate what an incident costs: chips, memory and jobs, and what its domains could do with its parts up."""
        from trninv.incidents.impact import estimate_impact  # noqa: PLC0415 # loaded on first use

        with self.open_snapshot() as snapshot:
            return estimate_impact(snapshot, incident)

    @reading
    def jobs(self, scope: str | None = None, *, include_ended: bool = False, limit: int = 1_000) -> "RowList[Job]":
        """List jobs with chips in a place, or all; see `trninv.placement.allocations.job_allocations.list_jobs`."""
        from trninv.placement.allocations.job_allocations import Job, list_jobs  # noqa: PLC0415 # loaded on first use

        with self.connect() as connection:
            return RowList(list_jobs(connection, scope, limit, include_ended=include_ended), Job)

    @reading
    def cordons(self, limit: int = 1_000) -> "RowList[Cordon]":
        """List the cordoned servers."""
        from trninv.placement.allocations.server_cordons import Cordon, list_cordons  # noqa: PLC0415 # loaded on first use

        with self.connect() as connection:
            return RowList(list_cordons(connection, limit), Cordon)

    @reading
    def draw(
        self, scope: str, highlight: Highlight | None = None, *, jobs: bool = False, color_by: str | None = None
    ) -> Picture:
        """Draw a domain's wiring, a rack, a cluster or, as CLUSTER/fabric, what connects its domains.

        Parameters
        ----------
        highlight
            What to mark in the wiring of a domain, or with ``jobs`` the places of another job.
        jobs
            Draw the jobs on the chips of a domain, or the free blocks of a cluster of several domains.
        color_by
            What the colors of a cluster's chips show: "state", "pool", "rack" or "domain".

        Raises
        ------
        InvalidArgumentError
            There is no such coloring.
        UsageError, WrongLevelError
            The place can't be drawn like that, or the highlight leaves it.

        """
        from trninv.drawing.place_picture import draw_place  # noqa: PLC0415 # see [tool.importlinter]

        with self.open_snapshot() as snapshot:
            svg = draw_place(snapshot, scope, highlight, jobs=jobs, color_by=color_by)
            return Picture(scope, svg, revision_id(snapshot.revision))

    @reading
    def draw_timeline(self, scope: str | None, since: str, until: str, intervals: int = 120) -> Picture:
        """Draw the unhealthy parts of a place, or of all, between two times, in intervals of equal length."""
        from trninv.drawing.timeline_chart import draw_timeline, read_history  # noqa: PLC0415 # as above
        from trninv.routing.questions.timeline import MAX_BUCKETS  # noqa: PLC0415 # loaded on first use

        if not 1 <= intervals <= MAX_BUCKETS:
            raise InvalidArgumentError(f"intervals {intervals:,} is out of range; use 1 to {MAX_BUCKETS:,}")
        with self.open_snapshot() as snapshot:
            history = read_history(snapshot.connection, scope, parse_time(since), parse_time(until), intervals)
            return Picture(scope or "", draw_timeline(history).to_file(), revision_id(snapshot.revision))

    @reading
    def describe(self, address: str) -> "Description":
        """Describe a place or link: its attributes, parts, links, unhealthy parts and facts."""
        from trninv.catalog.facts import default_catalog  # noqa: PLC0415 # loaded on first use
        from trninv.inventory.address.lookup import resolve  # noqa: PLC0415
        from trninv.inventory.schema.description import describe  # noqa: PLC0415

        with self.connect() as connection:
            return describe(connection, default_catalog(), resolve(connection, address))

    @reading
    def topology(
        self,
        scope: str,
        output_format: str,
        *,
        hostname: str | None = None,
        include_down: bool = False,
        coarse: bool = False,
        check: bool = False,
    ) -> str:
        """Return a place in the format of a scheduler or graph tool; docs/how-to/hand-to-a-scheduler.md lists them.

        Parameters
        ----------
        hostname
            Pattern of server names, such as "n{domain:03}-{server}".
        include_down
            Include parts that are down or in maintenance, marked if the format allows.
        coarse
            In trees, use network nodes as leaves instead of domains.
        check
            Read the text back and compare it with the inventory.

        Raises
        ------
        NotExpressibleError
            The format can't express the place.
        ScopeTooLargeError
            The text has more than 33,554,432 characters; the command on the database has no limit.

        """
        from trninv.exporters.format import topology_text  # noqa: PLC0415 # see [tool.importlinter]

        with self.open_snapshot() as snapshot:
            return topology_text(
                snapshot, scope, output_format, hostname, include_down=include_down, coarse=coarse, check=check
            )

    @reading
    def contents(self) -> "DatabaseContents":
        """Return what the database holds: its clusters, tables, discoveries and latest seal."""
        from trninv.inventory.database_contents import read_contents  # noqa: PLC0415 # loaded on first use

        with self.connect() as connection:
            return read_contents(connection)

    def cypher(
        self,
        query: str,
        parameters: "Mapping[str, Any] | None" = None,
        *,
        seconds: float = 60.0,
        limit: int = 10_000,
    ) -> "QueryResult":
        """Run a read-only Cypher query on the fleet as a graph; docs/reference/cypher.md lists its labels.

        Parameters
        ----------
        parameters
            Values for ``$name`` in the query, by name.
        seconds
            Time limit of the query.
        limit
            Maximum number of rows.

        Raises
        ------
        CypherError, TimeLimitError
        UsageError
            The extra ``graph`` is not installed.

        """
        from trninv.graph_projection.cypher_query import run_cypher  # noqa: PLC0415 # loaded on first use

        snapshot = self.shared_snapshot()
        try:
            return run_cypher(snapshot, query, parameters, seconds=seconds, max_rows=limit)
        finally:
            if self._source.shared is None:
                snapshot.close()

    def import_jobs(
        self,
        kind: str,
        files: "Iterable[ImportFile]",
        system: str | None = None,
        *,
        partial: bool = False,
        allow_empty: bool = False,
        keep_going: bool = False,
    ) -> "JobImportResult":
        """Allocate chips to the jobs in a scheduler's listing ("slurm" or "kubernetes"), and end the jobs it omits."""
        from trninv.placement.allocations.job_import import import_jobs, read_jobs  # noqa: PLC0415 # loaded on first use

        jobs = read_jobs(kind, files)
        with write_transaction(self.engine) as connection:
            return import_jobs(
                connection, system or kind, jobs, partial=partial, allow_empty=allow_empty, keep_going=keep_going
            )
