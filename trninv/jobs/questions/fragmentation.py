"""How much of what is free is of use to jobs of each size, and what keeps the rest from it."""

from dataclasses import dataclass
from typing import Annotated

from trninv.jobs.model import legal_of
from trninv.jobs.room import Stranded, stranded
from trninv.jobs.stock import count, stock
from trninv.routing import evidence
from trninv.routing.answer import Answer, At, Table, Told
from trninv.routing.question import ROUTED, Argument, question
from trninv.routing.wiring import Reader
from trninv.units import counted

_DEFINED = (
    "stranded of a size: the share of the free chips that jobs of that size, as many as fit at once in sets that "
    "schedulers grant, with every link up, leave over; chips left over are split into those that would be of use if "
    "nothing were down, those if no server were closed either, and the rest, which is due to where jobs are"
)


@dataclass(frozen=True, slots=True)
class SizeOfUse:
    """What jobs of one size can use of what is free."""

    chips: Annotated[int, "Chips of a job."]
    jobs: Annotated[int, "How many fit at once."]
    stranded: Annotated[float | None, "Share of the free chips that they can't use; null if nothing is free."]
    unusable: Annotated[int, "Free chips that they can't use."]
    by_down: Annotated[int, "Those of them that jobs could use if nothing were down."]
    by_closed: Annotated[int, "Those of the rest that jobs could use if no server were closed."]
    by_shape: Annotated[int, "The rest, which is due to where jobs are."]

    @classmethod
    def of(cls, found: Stranded, free: int) -> "SizeOfUse":
        """Of what was counted, among so many free chips."""
        share = found.chips / free if free else None
        return cls(found.size, found.jobs, share, found.chips, found.down, found.closed, found.shape)


@dataclass(frozen=True, kw_only=True)
class FragmentationAnswer(Answer):
    """How much of what is free is of use."""

    of: Annotated[At, "The scope."]
    free: Annotated[int, "Free chips."]
    unusable: Annotated[float, "Free chips that a job can't use, on the mean of all sizes."]
    sizes: Annotated[tuple[SizeOfUse, ...], "Each size that schedulers grant."]

    def told(self) -> Told:
        yield f"{self.of}: {counted(self.free, 'chip')} free, {self.unusable:,.4g} of no use on the mean of all sizes"
        yield Table(
            ["jobs of", "fit at once", "stranded", "chips", "by down", "by closed", "by shape"],
            (
                [
                    each.chips,
                    f"{each.jobs:,}",
                    "" if each.stranded is None else f"{each.stranded:.1%}",
                    f"{each.unusable:,}",
                    f"{each.by_down:,}",
                    f"{each.by_closed:,}",
                    f"{each.by_shape:,}",
                ]
                for each in self.sizes
            ),
        )


@question(price=ROUTED, examples=("fragmentation u-trn2x64",), compares=False)
def fragmentation(
    reader: Reader,
    of: Annotated[str, Argument("Chip, server, rack, domain or cluster to look in.", metavar="SCOPE")],
) -> FragmentationAnswer:
    """How much of what is free jobs of each size can't use, and why: what is down, closed, or where jobs are."""
    there = stock(reader, of)
    model = there.model
    legal = reader.remembered(("legal", model.slug), lambda: legal_of(reader.connection, model))
    free, found = count(there.free), stranded(there, legal)
    return FragmentationAnswer(
        of=of.strip(),
        free=free,
        unusable=sum(each.chips for each in found) / len(found),
        sizes=tuple(SizeOfUse.of(each, free) for each in found),
        definition=_DEFINED,
        facts=evidence.cite(reader, sorted({model.of.server.slug, model.slug}), ["chip_sets", "server_sets"]),
    )
