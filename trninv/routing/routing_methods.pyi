# Written by `python tests/fleet_stub.py` from the declarations; edit those, not this file.

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from pathlib import Path

from trninv.history.point_in_time import Time
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

class RoutingMethods:
    def availability(
        self,
        scope: str,
        since: str | None = ...,
        until: str | None = ...,
        by: str = ...,
    ) -> AvailabilityAnswer: ...
    def bandwidth(
        self,
        source: str,
        target: str,
        via: str | None = ...,
    ) -> BandwidthAnswer: ...
    def bisection(
        self,
        scope: str,
        chips: Sequence[str] | str = ...,
        *,
        transit: bool = ...,
    ) -> BisectionAnswer: ...
    def capability(
        self,
        scope: str,
    ) -> CapabilityAnswer: ...
    def collectives(
        self,
        scope: str,
        chips: Sequence[str] | str = ...,
    ) -> CollectivesAnswer: ...
    def cut_tree(
        self,
        scope: str,
    ) -> CutTreeAnswer: ...
    def diff(
        self,
        from_: Time,
        to: Time | None = ...,
        scope: str | None = ...,
        by: str = ...,
        limit: int = ...,
        skip: int = ...,
    ) -> DiffAnswer: ...
    def distances(
        self,
        scope: str,
        via: str | None = ...,
    ) -> DistanceAnswer: ...
    def expected_bandwidth(
        self,
        scope: str,
        tool: str = ...,
        cores_per_rank: int = ...,
        percent: int | None = ...,
    ) -> ExpectedBandwidthAnswer: ...
    def measured_bandwidth(
        self,
        scope: str,
        last: int = ...,
    ) -> MeasuredBandwidthAnswer: ...
    def memory_placement(
        self,
        scope: str,
        memory: int | str,
        *,
        best: bool = ...,
    ) -> MemoryPlacementAnswer: ...
    def memory_pool(
        self,
        scope: str,
        max_hops: int | None = ...,
        min_bandwidth: int | str | None = ...,
        via: str = ...,
    ) -> PoolAnswer: ...
    def path(
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
    def split_profile(
        self,
        scope: str,
        chips: int | None = ...,
    ) -> SplitProfileAnswer: ...
    def sweep(
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
    def timeline(
        self,
        scope: str,
        since: str | None = ...,
        until: str | None = ...,
        buckets: int = ...,
    ) -> TimelineAnswer: ...
