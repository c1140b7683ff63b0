"""Open a database for placement questions and allocations: what `trninv.open` returns."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from trninv.database.engine import write_transaction
from trninv.placement.allocations import job_allocations, server_cordons
from trninv.placement.questions import find
from trninv.routing import fleet

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Executor

    from trninv.importers.ingestion import ImportFile
    from trninv.incidents.model import Impact, Incident
    from trninv.placement.allocations.job_import import JobImportResult
    from trninv.placement.questions.capacity import CapacityAnswer
    from trninv.placement.questions.drain_impact import DrainImpactAnswer
    from trninv.placement.questions.fragmentation import FragmentationAnswer
    from trninv.placement.questions.free import FreeCapacityAnswer
    from trninv.placement.questions.make_room import MakeRoomAnswer
    from trninv.placement.questions.placements import PlacementsAnswer


class Fleet(fleet.BaseFleet):
    """An open trninv database for questions and allocations; thread-safe, and answers are never stale."""

    def placements(
        self,
        scope: str,
        shape: str | None = None,
        chips: int | None = None,
        memory: int | str | None = None,
        servers: int | None = None,
        domains: int | None = None,
        k: int = 3,
        *,
        any_block: bool = False,
        as_written: bool = False,
        healthy: bool = False,
        avoid: Sequence[str] | str = (),
        min_all_gather: int | str | None = None,
        min_bisection: int | str | None = None,
        policy: str = "quality",
        rack: bool = False,
        tier: int | None = None,
        copies: int = 1,
        spread: str = "chip",
        spares: int = 0,
    ) -> "PlacementsAnswer":
        """Find where a job fits, best first; give one of shape ("2x2x4"), chips, memory, servers and domains.

        ``copies`` fit at once and share no ``spread``: "chip", "server", "rack", "domain" or "network_node".
        """
        request = shape, chips, memory, servers, domains, k, any_block, as_written, healthy
        constraints = avoid, min_all_gather, min_bisection, policy, rack, tier
        answer: PlacementsAnswer = self.ask(find("placements"), scope, *request, *constraints, copies, spread, spares)
        return answer

    def free(self, scope: str) -> "FreeCapacityAnswer":
        """Compute the free chips of a scope, the largest free block, and how many jobs of each size fit at once."""
        answer: FreeCapacityAnswer = self.ask(find("free"), scope)
        return answer

    def fragmentation(self, scope: str) -> "FragmentationAnswer":
        """Compute the free chips that jobs of each size can't use, and why."""
        answer: FragmentationAnswer = self.ask(find("fragmentation"), scope)
        return answer

    def incidents(self, scope: str | None = None) -> "list[Incident]":
        """List incidents of a place or of all: unhealthy parts grouped by root cause, the worst first."""
        from trninv.incidents.grouping import list_incidents  # noqa: PLC0415 # only where it is asked

        with self.connect() as connection:
            return list_incidents(connection, scope)

    def impact(self, incident: "Incident") -> "Impact":
        """Estimate what an incident costs: chips, memory and jobs, and what its domains could do with its parts up."""
        from trninv.incidents.impact import estimate_impact  # noqa: PLC0415 # only where it is asked

        with self.open_reader() as reader:
            return estimate_impact(reader, incident)

    def drain_impact(self, scope: str) -> "DrainImpactAnswer":
        """Compute which jobs a drain of a place disrupts, where they can go, and what is free afterwards."""
        answer: DrainImpactAnswer = self.ask(find("drain_impact"), scope)
        return answer

    def make_room(
        self,
        shape: str | None = None,
        scope: str | None = None,
        chips: int | None = None,
        servers: int | None = None,
        domains: int | None = None,
        pinned: Sequence[str] | str = (),
    ) -> "MakeRoomAnswer":
        """Plan which jobs to move so that a shape ("4x4x1"), chips, servers or domains are free; see `move_jobs`."""
        answer: MakeRoomAnswer = self.ask(find("make_room"), shape, scope, chips, servers, domains, pinned)
        return answer

    def capacity(
        self,
        scope: str,
        rates: str | None = None,
        mission: int | None = None,
        start: str = "now",
        gang: int | None = None,
        samples: int = 10_000,
        seed: int = 0,
        *,
        executor: "Executor | None" = None,
        progress: "Callable[[str, int, int], None]" = lambda *_: None,
    ) -> "CapacityAnswer":
        """Estimate the capacity that remains when parts fail.

        ``rates`` is TOML, ``mission`` the hours without repair, ``start`` "now" or "new". Results are the same on any
        executor; without one, this process draws the samples. ``progress`` gets the samples done and in total.
        """
        arguments = scope, rates, mission, start, gang, samples, seed
        answer: CapacityAnswer = self.ask(find("capacity"), *arguments, executor=executor, progress=progress)
        return answer

    def move_jobs(self, plan: "MakeRoomAnswer", *, who: str, why: str = "") -> list[job_allocations.Job]:
        """Move jobs as `make_room` planned, all or none; refused if the fleet has changed since."""
        from trninv.placement.moves.plan_executor import move_jobs  # noqa: PLC0415 # only where it is asked

        with write_transaction(self.engine) as connection:
            return move_jobs(connection, plan.scope, plan.moves, plan.revision, who=who, why=why)

    def jobs(
        self, scope: str | None = None, *, include_ended: bool = False, limit: int = 1_000
    ) -> list[job_allocations.Job]:
        """List jobs with chips in a place, or all; see `trninv.placement.allocations.job_allocations.list_jobs`."""
        with self.connect() as connection:
            return job_allocations.list_jobs(connection, scope, limit, include_ended=include_ended)

    def cordons(self, limit: int = 1_000) -> list[server_cordons.Cordon]:
        """List the cordoned servers."""
        with self.connect() as connection:
            return server_cordons.list_cordons(connection, limit)

    def allocate(
        self,
        name: str,
        places: Sequence[str],
        *,
        who: str,
        spares: Sequence[str] = (),
        pinned: bool = False,
        revision: str | None = None,
        why: str = "",
    ) -> job_allocations.Job:
        """Allocate the chips of places to a job: all of them or none."""
        with write_transaction(self.engine) as connection:
            return job_allocations.allocate(
                connection, name, places, who=who, spares=spares, pinned=pinned, revision=revision, why=why
            )

    def release(self, name: str, *, who: str = "", why: str = "") -> job_allocations.Job:
        """End a job and free its chips; see `trninv.placement.allocations.job_allocations.release`."""
        with write_transaction(self.engine) as connection:
            return job_allocations.release(connection, name, who=who, why=why)

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
        from trninv.placement.allocations.job_import import import_jobs, read_jobs  # noqa: PLC0415 # only where it is asked

        jobs = read_jobs(kind, files)
        with write_transaction(self.engine) as connection:
            return import_jobs(
                connection, system or kind, jobs, partial=partial, allow_empty=allow_empty, keep_going=keep_going
            )

    def cordon(self, places: Sequence[str], *, who: str, why: str) -> list[server_cordons.Cordon]:
        """Cordon servers; see `trninv.placement.allocations.server_cordons.cordon`."""
        with write_transaction(self.engine) as connection:
            return server_cordons.cordon(connection, places, who=who, why=why)

    def uncordon(self, places: Sequence[str], *, who: str = "", why: str = "") -> list[server_cordons.Cordon]:
        """Uncordon servers; see `trninv.placement.allocations.server_cordons.uncordon`."""
        with write_transaction(self.engine) as connection:
            return server_cordons.uncordon(connection, places, who=who, why=why)
