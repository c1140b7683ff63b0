"""What is free: how much, the largest block, and how many jobs of each size start now."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from trninv.jobs.model import legal_of, written
from trninv.jobs.room import largest, together
from trninv.jobs.stock import count, stock
from trninv.routing import evidence
from trninv.routing.answer import Answer, At, Table, Told
from trninv.routing.question import ROUTED, Argument, question
from trninv.routing.wiring import Reader
from trninv.units import counted

_DEFINED = (
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

    of: Annotated[At, "The scope."]
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

    def told(self) -> Told:
        yield f"{self.of}: {self.free:,} of {counted(self.chips, 'chip')} are free"
        down, worn = self.unusable - self.closed, f" ({self.degraded:,} degraded)" if self.degraded else ""
        causes = f"down {down:,}, closed {self.closed:,}"
        yield f"held {self.held:,}, free {self.free:,}{worn}, unusable {self.unusable:,} ({causes})"
        if self.where:
            shape = f" ({self.shape})" if self.shape else ""
            yield f"largest free block: {counted(self.largest, 'chip')}{shape}, first at {self.where}"
        yield Table(["largest block", "domains"], ([each.chips, f"{each.domains:,}"] for each in self.histogram))
        yield Table(["jobs of", "fit at once"], ([each.chips, f"{each.jobs:,}"] for each in self.together))


@question(price=ROUTED, examples=("free u-trn2x64", "free trn3-gen2 --down trn3-gen2/d0/s3"), compares=False)
def free(
    reader: Reader,
    of: Annotated[str, Argument("Chip, server, rack, domain or cluster to look in.", metavar="SCOPE")],
) -> FreeAnswer:
    """How many chips are free, the largest free block, and how many jobs of each size would fit at once."""
    there = stock(reader, of)
    model = there.model
    legal = reader.remembered(("legal", model.slug), lambda: legal_of(reader.connection, model))
    found = largest(there, legal)
    sizes = np.array([each.chips for each in found], int)
    top = int(sizes.argmax()) if sizes.any() else None
    best = None if top is None else found[top]
    return FreeAnswer(
        of=of.strip(),
        chips=count(there.inside),
        usable=count(there.usable),
        held=count(there.held & there.inside),
        closed=count(there.usable & ~there.held & there.closed),
        held_in_closed=count(there.held & there.inside & there.closed),
        free=count(there.free),
        degraded=count(there.free & there.degraded),
        unusable=count(there.unusable),
        largest=best.chips if best else 0,
        shape=written(best.shape) if best and best.shape else None,
        where=there.domain_at(top) if best and top is not None else None,
        histogram=tuple(BlockSize(int(n), int((sizes == n).sum())) for n in np.unique(sizes)[::-1]),
        together=tuple(JobSize(size, jobs) for size, jobs in together(there, legal).items()),
        definition=_DEFINED,
        facts=evidence.cite(reader, sorted({model.of.server.slug, model.slug}), ["chip_sets", "server_sets"]),
    )
