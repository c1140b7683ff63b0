"""Answer how much of the free capacity jobs of each size can't use, and why."""

from dataclasses import dataclass
from typing import Annotated

from trninv.placement.candidates.free_blocks import StrandedChips, stranded_chips
from trninv.placement.candidates.free_capacity import count_chips, read_capacity
from trninv.placement.candidates.placement_model import read_legal_sets
from trninv.routing import evidence
from trninv.routing.answer import AddressText, Answer, Rendered, RenderedTable
from trninv.routing.question import ROUTED_COST, Argument, question
from trninv.routing.wiring_cache import SnapshotReader
from trninv.units import pluralize

_DEFINITION = (
    "stranded of a size: the share of the free chips that jobs of that size, as many as fit at once in sets that "
    "schedulers grant, with every link up, leave over; chips left over are split into those that would be of use if "
    "nothing were down, those if no server were closed either, and the rest, which is due to where jobs are"
)


@dataclass(frozen=True, slots=True)
class SizeUsability:
    """What jobs of one size can use of what is free."""

    chips: Annotated[int, "Chips of a job."]
    jobs: Annotated[int, "How many fit at once."]
    stranded: Annotated[float | None, "Share of the free chips that they can't use; null if nothing is free."]
    unusable: Annotated[int, "Free chips that they can't use."]
    by_failure: Annotated[int, "Those of them that jobs could use if nothing were down."]
    by_cordon: Annotated[int, "Those of the rest that jobs could use if no server were closed."]
    by_shape: Annotated[int, "The rest, which is due to where jobs are."]

    @classmethod
    def from_counts(cls, counts: StrandedChips, free: int) -> "SizeUsability":
        """Of what was counted, among so many free chips."""
        share = counts.chips / free if free else None
        return cls(counts.size, counts.jobs, share, counts.chips, counts.by_failure, counts.by_cordon, counts.by_shape)


@dataclass(frozen=True, kw_only=True)
class FragmentationAnswer(Answer):
    """How much of what is free is of use."""

    scope: Annotated[AddressText, "The scope."]
    free: Annotated[int, "Free chips."]
    unusable: Annotated[float, "Free chips that a job can't use, on the mean of all sizes."]
    sizes: Annotated[tuple[SizeUsability, ...], "Each size that schedulers grant."]

    def render(self) -> Rendered:
        yield f"{self.scope}: {pluralize(self.free, 'chip')} free, {self.unusable:,.4g} unusable (mean of all sizes)"
        yield RenderedTable(
            ["jobs of", "fit at once", "stranded", "chips", "by down", "by closed", "by shape"],
            (
                [
                    size.chips,
                    f"{size.jobs:,}",
                    "" if size.stranded is None else f"{size.stranded:.1%}",
                    f"{size.unusable:,}",
                    f"{size.by_failure:,}",
                    f"{size.by_cordon:,}",
                    f"{size.by_shape:,}",
                ]
                for size in self.sizes
            ),
        )


@question(cost=ROUTED_COST, examples=("fragmentation u-trn2x64",), has_baseline=False)
def fragmentation(
    reader: SnapshotReader,
    scope: Annotated[str, Argument("Chip, server, rack, domain or cluster to look in.", metavar="SCOPE")],
) -> FragmentationAnswer:
    """How much of what is free jobs of each size can't use, and why: what is down, closed, or where jobs are."""
    capacity = read_capacity(reader, scope)
    model = capacity.model
    legal_sets = reader.cached(("legal", model.slug), lambda: read_legal_sets(reader.connection, model))
    free, by_size = count_chips(capacity.free), stranded_chips(capacity, legal_sets)
    return FragmentationAnswer(
        scope=scope.strip(),
        free=free,
        unusable=sum(counts.chips for counts in by_size) / len(by_size),
        sizes=tuple(SizeUsability.from_counts(counts, free) for counts in by_size),
        definition=_DEFINITION,
        facts=evidence.cite(reader, sorted({model.domain_model.server.slug, model.slug}), ["chip_sets", "server_sets"]),
    )
