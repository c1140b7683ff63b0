# Written by `python tests/fleet_stub.py` from the declarations; edit those, not this file.

from collections.abc import Callable, Sequence
from concurrent.futures import Executor

from trninv.placement.questions.capacity import CapacityAnswer
from trninv.placement.questions.drain_impact import DrainImpactAnswer
from trninv.placement.questions.fragmentation import FragmentationAnswer
from trninv.placement.questions.free import FreeCapacityAnswer
from trninv.placement.questions.make_room import MakeRoomAnswer
from trninv.placement.questions.placements import PlacementsAnswer
from trninv.placement.questions.replacement import ReplacementAnswer
from trninv.placement.questions.training_time_ratio import TrainingTimeAnswer

class PlacementMethods:
    def capacity(
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
    def drain_impact(
        self,
        scope: str,
    ) -> DrainImpactAnswer: ...
    def fragmentation(
        self,
        scope: str,
    ) -> FragmentationAnswer: ...
    def free(
        self,
        scope: str,
    ) -> FreeCapacityAnswer: ...
    def make_room(
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
    def placements(
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
    def replacement(
        self,
        job: str,
        lost: Sequence[str] | str = ...,
    ) -> ReplacementAnswer: ...
    def training_time_ratio(
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
