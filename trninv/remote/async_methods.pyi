# Written by `python tests/fleet_stub.py` from the declarations; edit those, not this file.

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from datetime import datetime
from pathlib import Path

from trninv.catalog.instance_types import UnclaimedType
from trninv.history.events import Event
from trninv.history.point_in_time import Time
from trninv.incidents.model import ClosedIncident, Impact, Incident, IncidentNote, RelatedFinding
from trninv.inventory.database_contents import DatabaseContents
from trninv.inventory.schema.description import Description
from trninv.inventory.state.bindings import Binding, BindingChanges
from trninv.inventory.state.state_change import ConditionChange
from trninv.placement.allocations.job_allocations import Job
from trninv.placement.allocations.reservations import Reservation
from trninv.placement.allocations.server_cordons import Cordon
from trninv.placement.changes.move_jobs import Move
from trninv.placement.changes.reserve import ReservationResult
from trninv.placement.questions.capacity import CapacityAnswer
from trninv.placement.questions.drain_impact import DrainImpactAnswer
from trninv.placement.questions.fragmentation import FragmentationAnswer
from trninv.placement.questions.free import FreeCapacityAnswer
from trninv.placement.questions.make_room import MakeRoomAnswer
from trninv.placement.questions.placements import PlacementsAnswer
from trninv.placement.questions.replacement import ReplacementAnswer
from trninv.placement.questions.training_time_ratio import TrainingTimeAnswer
from trninv.reconcile.changes.infer_bindings import InferredBindings
from trninv.reconcile.drift import DriftResult
from trninv.reconcile.findings import Finding
from trninv.routing.evidence import ServerInstance
from trninv.routing.picture import Highlight, Picture
from trninv.routing.questions.availability import AvailabilityAnswer
from trninv.routing.questions.bandwidth import BandwidthAnswer
from trninv.routing.questions.bisection import BisectionAnswer
from trninv.routing.questions.capability import CapabilityAnswer
from trninv.routing.questions.collectives import CollectivesAnswer
from trninv.routing.questions.cut_tree import CutTreeAnswer
from trninv.routing.questions.diff import DiffAnswer
from trninv.routing.questions.distances import DistanceAnswer
from trninv.routing.questions.expected_bandwidth import ExpectedBandwidthAnswer
from trninv.routing.questions.measured_bandwidth import MeasuredBandwidthAnswer
from trninv.routing.questions.memory_placement import MemoryPlacementAnswer
from trninv.routing.questions.memory_pool import PoolAnswer
from trninv.routing.questions.path import PathAnswer
from trninv.routing.questions.split_profile import SplitProfileAnswer
from trninv.routing.questions.sweep import SweepAnswer
from trninv.routing.questions.timeline import TimelineAnswer
from trninv.routing.tabular import RowList
from trninv.solvers.graph import Graph

class AsyncMethods:
    async def availability(
        self,
        scope: str,
        since: str | None = ...,
        until: str | None = ...,
        by: str = ...,
    ) -> AvailabilityAnswer: ...
    async def bandwidth(
        self,
        source: str,
        target: str,
        via: str | None = ...,
    ) -> BandwidthAnswer: ...
    async def bisection(
        self,
        scope: str,
        chips: Sequence[str] | str = ...,
        *,
        transit: bool = ...,
    ) -> BisectionAnswer: ...
    async def capability(
        self,
        scope: str,
    ) -> CapabilityAnswer: ...
    async def collectives(
        self,
        scope: str,
        chips: Sequence[str] | str = ...,
    ) -> CollectivesAnswer: ...
    async def cut_tree(
        self,
        scope: str,
    ) -> CutTreeAnswer: ...
    async def diff(
        self,
        from_: Time,
        to: Time | None = ...,
        scope: str | None = ...,
        by: str = ...,
        limit: int = ...,
        skip: int = ...,
    ) -> DiffAnswer: ...
    async def distances(
        self,
        scope: str,
        via: str | None = ...,
    ) -> DistanceAnswer: ...
    async def expected_bandwidth(
        self,
        scope: str,
        tool: str = ...,
        cores_per_rank: int = ...,
        percent: int | None = ...,
    ) -> ExpectedBandwidthAnswer: ...
    async def measured_bandwidth(
        self,
        scope: str,
        last: int = ...,
    ) -> MeasuredBandwidthAnswer: ...
    async def memory_placement(
        self,
        scope: str,
        memory: int | str,
        *,
        best: bool = ...,
    ) -> MemoryPlacementAnswer: ...
    async def memory_pool(
        self,
        scope: str,
        max_hops: int | None = ...,
        min_bandwidth: int | str | None = ...,
        via: str = ...,
    ) -> PoolAnswer: ...
    async def path(
        self,
        source: str,
        target: str,
        by: str = ...,
        k: int = ...,
        avoid: Sequence[str] | str = ...,
        message: int | str = ...,
        shape: str = ...,
        via: str | None = ...,
        or_from: Sequence[str] | str = ...,
        or_to: Sequence[str] | str = ...,
    ) -> PathAnswer: ...
    async def split_profile(
        self,
        scope: str,
        chips: int | None = ...,
    ) -> SplitProfileAnswer: ...
    async def sweep(
        self,
        scope: str,
        fail: str = ...,
        measure: str = ...,
        *,
        pairs: bool = ...,
        limit: int = ...,
        executor: Executor | None = ...,
        journal: Path | None = ...,
        progress: Callable[[str, int, int], None] = ...,
    ) -> SweepAnswer: ...
    async def timeline(
        self,
        scope: str,
        since: str | None = ...,
        until: str | None = ...,
        buckets: int = ...,
    ) -> TimelineAnswer: ...
    async def capacity(
        self,
        scope: str,
        rates: str | None = ...,
        mission: int | None = ...,
        start: str = ...,
        gang: int | None = ...,
        samples: int = ...,
        seed: int = ...,
        until: str | None = ...,
        rates_since: str | None = ...,
        *,
        pessimistic: bool = ...,
        repair_hours: int | None = ...,
        executor: Executor | None = ...,
        progress: Callable[[str, int, int], None] = ...,
    ) -> CapacityAnswer: ...
    async def drain_impact(
        self,
        scope: str,
    ) -> DrainImpactAnswer: ...
    async def fragmentation(
        self,
        scope: str,
    ) -> FragmentationAnswer: ...
    async def free(
        self,
        scope: str,
    ) -> FreeCapacityAnswer: ...
    async def make_room(
        self,
        shape: str | None = ...,
        scope: str | None = ...,
        chips: int | None = ...,
        servers: int | None = ...,
        domains: int | None = ...,
        pinned: Sequence[str] | str = ...,
        until: str | None = ...,
        reservation: str | None = ...,
    ) -> MakeRoomAnswer: ...
    async def placements(
        self,
        scope: str,
        shape: str | None = ...,
        chips: int | None = ...,
        memory: int | str | None = ...,
        servers: int | None = ...,
        domains: int | None = ...,
        group: Sequence[int] = ...,
        k: int = ...,
        *,
        any_block: bool = ...,
        as_written: bool = ...,
        healthy: bool = ...,
        avoid: Sequence[str] | str = ...,
        min_all_gather: int | str | None = ...,
        min_bisection: int | str | None = ...,
        policy: str = ...,
        rack: bool = ...,
        tier: int | None = ...,
        copies: int = ...,
        spread: str = ...,
        spares: int = ...,
        from_: str | None = ...,
        until: str | None = ...,
        reservation: str | None = ...,
    ) -> PlacementsAnswer: ...
    async def replacement(
        self,
        job: str,
        lost: Sequence[str] | str = ...,
    ) -> ReplacementAnswer: ...
    async def training_time_ratio(
        self,
        scope: str,
        rates: str,
        checkpoint_seconds: int,
        restart_seconds: int,
        interval_seconds: int | None = ...,
        chips: int | None = ...,
        rates_since: str | None = ...,
        *,
        pessimistic: bool = ...,
    ) -> TrainingTimeAnswer: ...
    async def set_state(
        self,
        addresses: Sequence[str] | str,
        state: str,
        *,
        why: str,
        who: str,
        factor: float | None = ...,
        unchanged_since: int | None = ...,
        dry_run: bool = ...,
    ) -> list[ConditionChange]: ...
    async def bind(
        self,
        slot: str,
        instance: str,
        *,
        who: str,
        dry_run: bool = ...,
    ) -> BindingChanges: ...
    async def detect_drift(
        self,
        scope: str | None = ...,
        *,
        who: str = ...,
        apply: bool = ...,
        stale_after: int = ...,
        progress: Callable[[str, int, int], None] = ...,
        dry_run: bool = ...,
    ) -> DriftResult: ...
    async def infer_bindings(
        self,
        cluster: str | None = ...,
        *,
        who: str,
        in_order: bool = ...,
        hostname: str = ...,
        max_age: float = ...,
        dry_run: bool = ...,
    ) -> InferredBindings: ...
    async def unbind(
        self,
        slot: str,
        *,
        who: str,
        dry_run: bool = ...,
    ) -> Binding: ...
    async def allocate(
        self,
        name: str,
        places: Sequence[str] | str,
        *,
        who: str,
        spares: Sequence[str] | str = ...,
        pinned: bool = ...,
        until: str | None = ...,
        reservation: str | None = ...,
        revision: str | None = ...,
        why: str = ...,
        dry_run: bool = ...,
    ) -> Job: ...
    async def cordon(
        self,
        places: Sequence[str] | str,
        *,
        who: str,
        why: str,
        dry_run: bool = ...,
    ) -> list[Cordon]: ...
    async def move_jobs(
        self,
        scope: str,
        moves: Sequence[Move],
        revision: str,
        *,
        who: str,
        why: str = ...,
        dry_run: bool = ...,
    ) -> list[Job]: ...
    async def note_incident(
        self,
        incident: str,
        text: str,
        *,
        who: str,
        dry_run: bool = ...,
    ) -> IncidentNote: ...
    async def release(
        self,
        name: str,
        *,
        who: str = ...,
        why: str = ...,
        dry_run: bool = ...,
    ) -> Job: ...
    async def replace_servers(
        self,
        name: str,
        lost: Sequence[str] | str,
        revision: str,
        *,
        who: str,
        why: str = ...,
        dry_run: bool = ...,
    ) -> Job: ...
    async def reserve(
        self,
        name: str,
        places: Sequence[str] | str,
        *,
        who: str,
        until: str,
        from_: str | None = ...,
        maintenance: bool = ...,
        shape: str | None = ...,
        chips: int | None = ...,
        servers: int | None = ...,
        domains: int | None = ...,
        why: str = ...,
        dry_run: bool = ...,
    ) -> ReservationResult: ...
    async def uncordon(
        self,
        places: Sequence[str] | str,
        *,
        who: str = ...,
        why: str = ...,
        dry_run: bool = ...,
    ) -> list[Cordon]: ...
    async def unreserve(
        self,
        name: str,
        *,
        who: str = ...,
        why: str = ...,
        dry_run: bool = ...,
    ) -> Reservation: ...
    async def bindings(
        self,
        scope: str | None = ...,
        *,
        include_ended: bool = ...,
    ) -> RowList[Binding]: ...
    async def closed_incidents(
        self,
        scope: str | None = ...,
    ) -> RowList[ClosedIncident]: ...
    async def contents(
        self,
    ) -> DatabaseContents: ...
    async def cordons(
        self,
        limit: int = ...,
    ) -> RowList[Cordon]: ...
    async def describe(
        self,
        address: str,
    ) -> Description: ...
    async def draw(
        self,
        scope: str,
        highlight: Highlight | None = ...,
        *,
        jobs: bool = ...,
        color_by: str | None = ...,
    ) -> Picture: ...
    async def draw_timeline(
        self,
        scope: str | None,
        since: str,
        until: str,
        intervals: int = ...,
    ) -> Picture: ...
    async def drift(
        self,
        scope: str | None = ...,
        *,
        include_cleared: bool = ...,
    ) -> RowList[Finding]: ...
    async def drift_compared_at(
        self,
    ) -> str | None: ...
    async def events(
        self,
        scope: str | None = ...,
        *,
        limit: int = ...,
        after: int | None = ...,
        since: str | datetime | None = ...,
        until: str | datetime | None = ...,
        kind: str | None = ...,
        action: str | None = ...,
        job: str | None = ...,
        who: str | None = ...,
        why: str | None = ...,
        source: str | None = ...,
        batch: int | None = ...,
        states_only: bool = ...,
    ) -> RowList[Event]: ...
    async def graph(
        self,
        scope: str,
    ) -> Graph: ...
    async def impact(
        self,
        incident: Incident,
    ) -> Impact: ...
    async def incidents(
        self,
        scope: str | None = ...,
    ) -> RowList[Incident]: ...
    async def instances(
        self,
        servers: Iterable[str],
    ) -> tuple[ServerInstance, ...]: ...
    async def jobs(
        self,
        scope: str | None = ...,
        *,
        include_ended: bool = ...,
        limit: int = ...,
    ) -> RowList[Job]: ...
    async def only_cluster(
        self,
    ) -> str: ...
    async def topology(
        self,
        scope: str,
        output_format: str,
        *,
        hostname: str | None = ...,
        include_down: bool = ...,
        coarse: bool = ...,
        check: bool = ...,
    ) -> str: ...
    async def unapplied_findings(
        self,
        scope: str | None = ...,
    ) -> RowList[RelatedFinding]: ...
    async def unclaimed_types(
        self,
    ) -> tuple[UnclaimedType, ...]: ...
