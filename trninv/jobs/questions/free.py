"""Answer how much is free, the largest free block, and how many jobs of each size fit at once."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from trninv.jobs.model import format_shape, read_legal_sets
from trninv.jobs.room import concurrent_jobs, largest_blocks
from trninv.jobs.stock import count_chips, read_capacity
from trninv.routing import evidence
from trninv.routing.answer import AddressText, Answer, Rendered, RenderedTable
from trninv.routing.question import ROUTED_COST, Argument, question
from trninv.routing.wiring import SnapshotReader
from trninv.units import pluralize

_DEFINITION = (
    "free chips are up or degraded, held by no job, and in no server that is closed; unusable ones are neither held "
    "nor free; the largest block of a domain is the box of free chips, all links between them up, that has most "
    "chips, of a switched domain the largest set that a job may hold; jobs of a size are counted alone, in sets that "
    "schedulers grant, all links among their chips up, which do not overlap"
)


@dataclass(frozen=True, slots=True)
class BlockSize:
    """How many domains have a largest free block of a size."""

    chips: Annotated[int, "Chips of the block; 0: no chip is free."]
    domains: Annotated[int, "How many domains."]


@dataclass(frozen=True, slots=True)
class JobSize:
    """How many jobs of a size would fit at once."""

    chips: Annotated[int, "Chips of a job."]
    jobs: Annotated[int, "How many of that size alone."]


@dataclass(frozen=True, kw_only=True)
class FreeAnswer(Answer):
    """What is free in a scope."""

    of: Annotated[AddressText, "The scope."]
    chips: Annotated[int, "All chips of the scope."]
    usable: Annotated[int, "Those that are up or degraded."]
    held: Annotated[int, "Those that a job holds, even if they are down."]
    closed: Annotated[int, "Usable ones that no job holds, in servers that take no jobs."]
    held_in_closed: Annotated[int, "Chips that jobs hold in such servers."]
    free: Annotated[int, "What the next job may have."]
    degraded: Annotated[int, "Free chips that are degraded, or have a NIC that is not up."]
    unusable: Annotated[int, "Those that no job holds and none may have: held, free and unusable chips are all chips."]
    largest: Annotated[int, "Chips of the largest free block."]
    shape: Annotated[str | None, "Its shape, rows × columns × servers; null where there is none."]
    where: Annotated[str | None, "Address of the first domain that has it."]
    histogram: Annotated[tuple[BlockSize, ...], "Domains by their largest free block, the largest first."]
    together: Annotated[tuple[JobSize, ...], "How many jobs of each size that schedulers grant would fit at once."]

    def render(self) -> Rendered:
        yield f"{self.of}: {self.free:,} of {pluralize(self.chips, 'chip')} are free"
        down, degraded_text = self.unusable - self.closed, f" ({self.degraded:,} degraded)" if self.degraded else ""
        causes = f"down {down:,}, closed {self.closed:,}"
        yield f"held {self.held:,}, free {self.free:,}{degraded_text}, unusable {self.unusable:,} ({causes})"
        if self.where:
            shape = f" ({self.shape})" if self.shape else ""
            yield f"largest free block: {pluralize(self.largest, 'chip')}{shape}, first at {self.where}"
        yield RenderedTable(
            ["largest block", "domains"], ([entry.chips, f"{entry.domains:,}"] for entry in self.histogram)
        )
        yield RenderedTable(["jobs of", "fit at once"], ([entry.chips, f"{entry.jobs:,}"] for entry in self.together))


@question(cost=ROUTED_COST, examples=("free u-trn2x64", "free trn3-gen2 --down trn3-gen2/d0/s3"), has_baseline=False)
def free(
    reader: SnapshotReader,
    of: Annotated[str, Argument("Chip, server, rack, domain or cluster to look in.", metavar="SCOPE")],
) -> FreeAnswer:
    """How many chips are free, the largest free block, and how many jobs of each size would fit at once."""
    capacity = read_capacity(reader, of)
    model = capacity.model
    legal_sets = reader.cached(("legal", model.slug), lambda: read_legal_sets(reader.connection, model))
    blocks = largest_blocks(capacity, legal_sets)
    sizes = np.array([block.chips for block in blocks], int)
    largest_row = int(sizes.argmax()) if sizes.any() else None
    best = None if largest_row is None else blocks[largest_row]
    return FreeAnswer(
        of=of.strip(),
        chips=count_chips(capacity.in_scope),
        usable=count_chips(capacity.usable),
        held=count_chips(capacity.allocated & capacity.in_scope),
        closed=count_chips(capacity.usable & ~capacity.allocated & capacity.cordoned),
        held_in_closed=count_chips(capacity.allocated & capacity.in_scope & capacity.cordoned),
        free=count_chips(capacity.free),
        degraded=count_chips(capacity.free & capacity.degraded),
        unusable=count_chips(capacity.unusable),
        largest=best.chips if best else 0,
        shape=format_shape(best.shape) if best and best.shape else None,
        where=capacity.domain_address(largest_row) if best and largest_row is not None else None,
        histogram=tuple(BlockSize(int(n), int((sizes == n).sum())) for n in np.unique(sizes)[::-1]),
        together=tuple(JobSize(size, jobs) for size, jobs in concurrent_jobs(capacity, legal_sets).items()),
        definition=_DEFINITION,
        facts=evidence.cite(reader, sorted({model.domain_model.server.slug, model.slug}), ["chip_sets", "server_sets"]),
    )
