# Written by `python tests/fleet_stub.py` from the declarations; edit those, not this file.

from collections.abc import Callable, Sequence

from trninv.incidents.model import IncidentNote
from trninv.inventory.access.bearer_tokens import IssuedToken
from trninv.inventory.changes.revoke_token import Revocation
from trninv.inventory.state.bindings import Binding, BindingChanges
from trninv.inventory.state.state_change import ConditionChange
from trninv.placement.allocations.job_allocations import Job
from trninv.placement.allocations.reservations import Reservation
from trninv.placement.allocations.server_cordons import Cordon
from trninv.placement.changes.move_jobs import Move
from trninv.placement.changes.reserve import ReservationResult
from trninv.reconcile.adoption import AdoptionResult
from trninv.reconcile.changes.infer_bindings import InferredBindings
from trninv.reconcile.drift import DriftResult

class ChangeMethods:
    def create_token(
        self,
        name: str,
        scope: str = ...,
        expires: str | None = ...,
        *,
        who: str,
        dry_run: bool = ...,
    ) -> str: ...
    def create_tokens(
        self,
        names: Sequence[str] | str,
        scope: str = ...,
        expires: str | None = ...,
        *,
        who: str,
        dry_run: bool = ...,
    ) -> list[IssuedToken]: ...
    def revoke_token(
        self,
        name: str,
        number: int | None = ...,
        *,
        who: str,
        dry_run: bool = ...,
    ) -> Revocation: ...
    def rotate_token(
        self,
        name: str,
        overlap: str = ...,
        expires: str | None = ...,
        scope: str | None = ...,
        *,
        who: str,
        dry_run: bool = ...,
    ) -> str: ...
    def set_state(
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
    def adopt(
        self,
        name: str,
        *,
        progress: Callable[[str, int, int], None] = ...,
        dry_run: bool = ...,
    ) -> AdoptionResult: ...
    def bind(
        self,
        slot: str,
        instance: str,
        *,
        who: str,
        dry_run: bool = ...,
    ) -> BindingChanges: ...
    def detect_drift(
        self,
        scope: str | None = ...,
        *,
        who: str = ...,
        apply: bool = ...,
        stale_after: int = ...,
        progress: Callable[[str, int, int], None] = ...,
        dry_run: bool = ...,
    ) -> DriftResult: ...
    def infer_bindings(
        self,
        cluster: str | None = ...,
        *,
        who: str,
        in_order: bool = ...,
        hostname: str = ...,
        max_age: float = ...,
        dry_run: bool = ...,
    ) -> InferredBindings: ...
    def unbind(
        self,
        slot: str,
        *,
        who: str,
        dry_run: bool = ...,
    ) -> Binding: ...
    def allocate(
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
    def cordon(
        self,
        places: Sequence[str] | str,
        *,
        who: str,
        why: str,
        dry_run: bool = ...,
    ) -> list[Cordon]: ...
    def move_jobs(
        self,
        scope: str,
        moves: Sequence[Move],
        revision: str,
        *,
        who: str,
        why: str = ...,
        dry_run: bool = ...,
    ) -> list[Job]: ...
    def note_incident(
        self,
        incident: str,
        text: str,
        *,
        who: str,
        dry_run: bool = ...,
    ) -> IncidentNote: ...
    def release(
        self,
        name: str,
        *,
        who: str = ...,
        why: str = ...,
        dry_run: bool = ...,
    ) -> Job: ...
    def replace_servers(
        self,
        name: str,
        lost: Sequence[str] | str,
        revision: str,
        *,
        who: str,
        why: str = ...,
        dry_run: bool = ...,
    ) -> Job: ...
    def reserve(
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
    def uncordon(
        self,
        places: Sequence[str] | str,
        *,
        who: str = ...,
        why: str = ...,
        dry_run: bool = ...,
    ) -> list[Cordon]: ...
    def unreserve(
        self,
        name: str,
        *,
        who: str = ...,
        why: str = ...,
        dry_run: bool = ...,
    ) -> Reservation: ...
