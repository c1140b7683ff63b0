"""Answer how many chips are free, the largest free block, and how many jobs of each size fit at once.

`trninv.placement.candidates.free_capacity` defines which chips are free; this module declares the question and its
answer.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from trninv.database.as_of import current_time
from trninv.inventory.address.lookup import resolve_place
from trninv.inventory.parameter import Argument
from trninv.placement.allocations.reservations import Window, list_reservations, render_reservations
from trninv.placement.candidates.free_blocks import concurrent_jobs, largest_blocks
from trninv.placement.candidates.free_capacity import count_chips, read_capacity
from trninv.placement.candidates.placement_model import format_shape, read_legal_sets
from trninv.placement.candidates.reserved_chips import with_current_reservations
from trninv.rendered_text import Rendered, RenderedTable
from trninv.routing import evidence
from trninv.routing.answer import AddressText, Answer
from trninv.routing.question import ROUTED_COST, question
from trninv.routing.snapshot import Snapshot
from trninv.units import format_timestamp, pluralize

_DEFINITION = (
    "free chips are up or degraded, not allocated, not in a cordoned server, and not reserved now; reserved chips "
    "would otherwise be free, and unusable chips are all others; reservations that begin later are listed, and a job "
    "without an end does not fit on their chips; the largest block of a torus domain is the box of free chips with "
    "most chips and every link up, of a switched domain the largest legal set; jobs of each size are counted alone, in "
    "legal sets that do not overlap, with every link up"
)


@dataclass(frozen=True, slots=True)
class BlockCount:
    """Domains with a largest free block of one size."""

    chips: Annotated[int, "Chips of the block; 0 if no chip is free."]
    domains: Annotated[int, "Number of domains."]


@dataclass(frozen=True, slots=True)
class ConcurrentJobs:
    """Jobs of one size that fit at once."""

    chips: Annotated[int, "Chips per job."]
    jobs: Annotated[int, "Jobs of that size, without jobs of other sizes."]


@dataclass(frozen=True, kw_only=True)
class FreeCapacityAnswer(Answer):
    """Free capacity of a scope."""

    scope: Annotated[AddressText, "The scope."]
    chips: Annotated[int, "Chips of the scope."]
    usable: Annotated[int, "Chips that are up or degraded."]
    allocated: Annotated[int, "Allocated chips, including those that are down."]
    cordoned: Annotated[int, "Usable chips in cordoned servers that are not allocated."]
    allocated_on_cordoned: Annotated[int, "Allocated chips in cordoned servers."]
    free: Annotated[int, "Chips that a new job may get."]
    reserved: Annotated[int, "Chips that are not free only because they are reserved now."]
    degraded: Annotated[int, "Free chips that are degraded or have an unhealthy NIC."]
    unusable: Annotated[int, "All others; allocated, free, reserved and unusable chips add up to all."]
    largest_block: Annotated[int, "Chips of the largest free block."]
    largest_block_shape: Annotated[str | None, "Its shape, rows × columns × servers; null without a torus."]
    largest_block_domain: Annotated[str | None, "Address of the first domain with such a block."]
    histogram: Annotated[tuple[BlockCount, ...], "Domains by their largest free block, largest first."]
    concurrent_jobs: Annotated[tuple[ConcurrentJobs, ...], "Jobs of each legal size that fit at once."]
    reservations: Annotated[
        tuple[str, ...], "The first reservations of chips of the scope, now and later, with their times."
    ]

    def picture_arguments(self) -> dict[str, Any]:
        return {"scope": self.scope, "jobs": True}

    def render(self) -> Rendered:
        yield f"{self.scope}: {self.free:,} of {pluralize(self.chips, 'chip')} are free"
        down, degraded_text = self.unusable - self.cordoned, f" ({self.degraded:,} degraded)" if self.degraded else ""
        causes = f"down {down:,}, cordoned {self.cordoned:,}"
        reserved = f", reserved {self.reserved:,}" if self.reserved else ""
        yield (
            f"allocated {self.allocated:,}, free {self.free:,}{degraded_text}{reserved}, "
            f"unusable {self.unusable:,} ({causes})"
        )
        if self.largest_block_domain:
            shape = f" ({self.largest_block_shape})" if self.largest_block_shape else ""
            block = f"{pluralize(self.largest_block, 'chip')}{shape}"
            yield f"largest free block: {block}, first at {self.largest_block_domain}"
        yield RenderedTable(
            ["largest block", "domains"], ([entry.chips, f"{entry.domains:,}"] for entry in self.histogram)
        )
        yield RenderedTable(
            ["jobs of", "fit at once"], ([entry.chips, f"{entry.jobs:,}"] for entry in self.concurrent_jobs)
        )
        yield from render_reservations(self.reservations)

    def value_lines(self) -> Sequence[object]:
        return [pluralize(self.free, "chip")]


@question(
    cost=ROUTED_COST,
    examples=("free u-trn2x64", "free trn3-gen2 --down trn3-gen2/d0/s3"),
    has_baseline=False,
    reads_clock=True,
)
def free(
    snapshot: Snapshot,
    scope: Annotated[str, Argument("Chip, server, rack, domain or cluster.", metavar="SCOPE")],
) -> FreeCapacityAnswer:
    """Show free capacity: free chips, the largest free block and how many jobs of each size fit at once."""
    capacity = with_current_reservations(snapshot, read_capacity(snapshot, scope))
    model = capacity.model
    legal_sets = snapshot.cached(("legal", model.slug), lambda: read_legal_sets(snapshot.connection, model))
    blocks = largest_blocks(capacity, legal_sets)
    sizes = np.array([block.chips for block in blocks], int)
    largest_row = int(sizes.argmax()) if sizes.any() else None
    best = None if largest_row is None else blocks[largest_row]
    return FreeCapacityAnswer(
        scope=scope.strip(),
        chips=count_chips(capacity.in_scope),
        usable=count_chips(capacity.usable),
        allocated=count_chips(capacity.allocated & capacity.in_scope),
        cordoned=count_chips(capacity.only_cordoned),
        allocated_on_cordoned=count_chips(capacity.allocated & capacity.in_scope & capacity.cordoned),
        free=count_chips(capacity.free),
        reserved=count_chips(capacity.only_reserved),
        degraded=count_chips(capacity.free & capacity.degraded),
        unusable=count_chips(capacity.unusable),
        largest_block=best.chips if best else 0,
        largest_block_shape=format_shape(best.shape) if best and best.shape else None,
        largest_block_domain=capacity.domain_address(largest_row) if best and largest_row is not None else None,
        histogram=tuple(BlockCount(int(size), int((sizes == size).sum())) for size in np.unique(sizes)[::-1]),
        concurrent_jobs=tuple(
            ConcurrentJobs(size, jobs) for size, jobs in concurrent_jobs(capacity, legal_sets).items()
        ),
        reservations=list_reservations(
            snapshot.connection,
            resolve_place(snapshot.connection, scope),
            Window(format_timestamp(current_time(snapshot.connection))),
        ),
        definition=_DEFINITION,
        facts=evidence.cite(
            snapshot, sorted({model.domain_model.server.slug, model.slug}), ["chip_sets", "server_sets"]
        ),
    )
