"""Answer how many free chips are stranded, which means that jobs of a size can't use them, and why.

`trninv.placement.candidates.free_blocks` counts them; this module declares the question and its answer.
"""

from dataclasses import dataclass
from typing import Annotated

from trninv.inventory.parameter import Argument
from trninv.placement.candidates.free_blocks import StrandedChips, stranded_chips
from trninv.placement.candidates.free_capacity import count_chips, read_capacity
from trninv.placement.candidates.placement_model import read_legal_sets
from trninv.placement.candidates.reserved_chips import with_current_reservations
from trninv.rendered_text import Rendered, RenderedTable
from trninv.routing import evidence
from trninv.routing.answer import AddressText, Answer
from trninv.routing.question import ROUTED_COST, question
from trninv.routing.snapshot import Snapshot
from trninv.units import pluralize

_DEFINITION = (
    "stranded: the share of the free chips that remains when as many jobs of that size as possible are placed in legal "
    "sets with every link up; the remaining chips are split into those that jobs could use if nothing were down, those "
    "that they could use if no server were cordoned either, those that they could use if nothing were reserved either, "
    "and the rest, caused by where other jobs are; chips that are reserved now are not free"
)


@dataclass(frozen=True, slots=True)
class SizeUsability:
    """Free chips that jobs of one size can use."""

    chips: Annotated[int, "Chips per job."]
    jobs: Annotated[int, "Jobs of this size that fit at once."]
    stranded: Annotated[float | None, "Share of the free chips that such jobs can't use; null if nothing is free."]
    unusable: Annotated[int, "Free chips that such jobs can't use."]
    by_failure: Annotated[int, "Of these, chips that jobs could use if nothing were down."]
    by_cordon: Annotated[int, "Of the rest, chips that jobs could use if no server were cordoned."]
    by_reservation: Annotated[int, "Of the rest, chips that jobs could use if nothing were reserved now."]
    by_shape: Annotated[int, "The rest, caused by where other jobs are."]

    @classmethod
    def from_counts(cls, counts: StrandedChips, free: int) -> "SizeUsability":
        """Create it from stranded chips and the number of free chips."""
        share = counts.chips / free if free else None
        causes = counts.by_failure, counts.by_cordon, counts.by_reservation, counts.by_shape
        return cls(counts.size, counts.jobs, share, counts.chips, *causes)


@dataclass(frozen=True, kw_only=True)
class FragmentationAnswer(Answer):
    """Free chips that jobs of each size can and can't use."""

    scope: Annotated[AddressText, "The scope."]
    free: Annotated[int, "Free chips."]
    unusable: Annotated[float, "Free chips that a job can't use, averaged over all sizes."]
    sizes: Annotated[tuple[SizeUsability, ...], "One entry per legal job size."]

    def render(self) -> Rendered:
        yield f"{self.scope}: {pluralize(self.free, 'chip')} free, {self.unusable:,.4g} unusable (mean of all sizes)"
        yield RenderedTable(
            ["jobs of", "fit at once", "stranded", "chips", "by failure", "by cordon", "by reservation", "by shape"],
            (
                [
                    size.chips,
                    f"{size.jobs:,}",
                    "" if size.stranded is None else f"{size.stranded:.1%}",
                    f"{size.unusable:,}",
                    f"{size.by_failure:,}",
                    f"{size.by_cordon:,}",
                    f"{size.by_reservation:,}",
                    f"{size.by_shape:,}",
                ]
                for size in self.sizes
            ),
        )


@question(cost=ROUTED_COST, examples=("fragmentation u-trn2x64",), has_baseline=False, reads_clock=True)
def fragmentation(
    snapshot: Snapshot,
    scope: Annotated[str, Argument("Chip, server, rack, domain or cluster.", metavar="SCOPE")],
) -> FragmentationAnswer:
    """Show the free chips that jobs of each size can't use, and why: failures, cordons, reservations or other jobs."""
    capacity = with_current_reservations(snapshot, read_capacity(snapshot, scope))
    model = capacity.model
    legal_sets = snapshot.cached(("legal", model.slug), lambda: read_legal_sets(snapshot.connection, model))
    free, by_size = count_chips(capacity.free), stranded_chips(capacity, legal_sets)
    return FragmentationAnswer(
        scope=scope.strip(),
        free=free,
        unusable=sum(counts.chips for counts in by_size) / len(by_size),
        sizes=tuple(SizeUsability.from_counts(counts, free) for counts in by_size),
        definition=_DEFINITION,
        facts=evidence.cite(
            snapshot, sorted({model.domain_model.server.slug, model.slug}), ["chip_sets", "server_sets"]
        ),
    )
