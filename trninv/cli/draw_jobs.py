"""Draw the jobs of a domain and the next job's placement, or the free capacity of a fleet (`draw --jobs`)."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from trninv.drawing import jobs, room, wiring
from trninv.errors import UsageError
from trninv.inventory.address import resolve_place
from trninv.jobs.questions import find
from trninv.routing.fleet import BaseFleet

if TYPE_CHECKING:
    from trninv.jobs.questions.fits import PlacementsAnswer


@dataclass(frozen=True, slots=True)
class ProposedJob:
    """A job to place and outline, given by shape or by number of chips; false if neither is given."""

    shape: str | None
    chips: int | None
    by_job: bool

    def __post_init__(self) -> None:
        if (self.shape is not None or self.chips is not None) and not self.by_job:
            raise UsageError("--propose and --chips outline a place among jobs: say --jobs as well")
        if self.shape is not None and self.chips is not None:
            raise UsageError("--propose and --chips are two ways to say what is placed: choose one")

    def __bool__(self) -> bool:
        return self.shape is not None or self.chips is not None


def draw_job_map(scenario: BaseFleet, scope: str, proposed: ProposedJob) -> str:
    """Draw the jobs of a scope in one domain with the proposed job, or the free capacity of a cluster of several."""
    with scenario.snapshot() as snapshot:
        with snapshot.open_reader() as reader:
            place = resolve_place(reader.connection, scope)
            blocks, sizes = room.read_free_blocks(reader, place.address) if place.level == "cluster" else ((), ())
            if len(blocks) > 1:
                if proposed:
                    raise UsageError(f"{place.address} has many domains: name one, such as {place.address}/d0")
                return room.draw_capacity(place.address, blocks, sizes)
            diagram = wiring.read_diagram(reader.connection, scope)
            allocations = jobs.read_job_overlay(reader, diagram)
        if not proposed:
            return jobs.draw_jobs(diagram, allocations)
        answer: PlacementsAnswer = snapshot.ask(
            find("placements"), of=diagram.scope, shape=proposed.shape, chips=proposed.chips, k=1
        )
    places = answer.placements[0].places if answer.placements else ()
    return jobs.draw_jobs(diagram, allocations, places, next(line for line in answer.render() if isinstance(line, str)))
