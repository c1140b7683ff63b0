"""Draw the jobs of a fabric that cross between its network nodes, each as a line with lanes of its own.

A job's line runs along a lane in the bar of the node above all its servers, and down beside the labels of the uplinks.
"""

from collections.abc import Mapping, Sequence
from typing import Final
from xml.etree.ElementTree import Element

from trninv.drawing.fabric_contents import Fabric, FabricJob
from trninv.drawing.palette import job_color, job_letters, on_job_color
from trninv.drawing.svg import Coordinates, Style, add_element, add_link, draw_label, draw_line, truncate
from trninv.drawing.symbols import draw_polyline

LANE_HEIGHT: Final = 24.0
_LINE_GAP: Final = 6.0
_MAX_JOBS: Final = 6
"""Most jobs that are drawn as lines, the largest ones."""
_MAX_LABEL_WIDTH: Final = 130.0


class JobLanes:
    """The lines of the largest crossing jobs; ``leaves`` has the nodes of the lowest tier from left to right."""

    def __init__(self, fabric: Fabric, leaves: Sequence[int]) -> None:
        self._fabric = fabric
        crossing = [job for job in fabric.jobs.values() if job.is_crossing]
        tops = [(job, top) for job in crossing[:_MAX_JOBS] if (top := self._shared_top(job))]
        position = {leaf: index for index, leaf in enumerate(leaves)}
        self._lanes: dict[int, list[list[FabricJob]]] = {}
        self._lane_of: dict[int, int] = {}
        self._tops = dict[int, int]()
        for job, top in tops:
            span = {position[leaf] for leaf in job.bandwidths}
            lanes = self._lanes.setdefault(top, [])
            index = next((index for index, lane in enumerate(lanes) if _is_free(lane, span, position)), len(lanes))
            if index == len(lanes):
                lanes.append([])
            lanes[index].append(job)
            self._lane_of[job.ordinal], self._tops[job.ordinal] = index, top
        self._jobs = [job for job, _ in tops]
        through: dict[int, list[int]] = {}
        for job, top in tops:
            nodes = {node for leaf in job.bandwidths for node in self._path(leaf)}
            for node in nodes.difference(self._path(top)):
                through.setdefault(node, []).append(job.ordinal)
        self._through = through

    def height(self, node: int) -> float:
        """Return the height of the lanes in a node's bar."""
        return LANE_HEIGHT * len(self._lanes.get(node, ()))

    def width(self, node: int) -> float:
        """Return the width that lines take up on the right of a node's uplink."""
        return _LINE_GAP * (len(self._through.get(node, ())) + 1) if node in self._through else 0.0

    def draw(self, root: Element, boxes: Mapping[int, tuple[float, float, float]], bar_height: float) -> None:
        """Draw the lines; ``boxes`` has the x, y and width of each node, by its id."""
        for job in self._jobs:
            self._draw_job(root, job, boxes, bar_height)

    def _draw_job(
        self, root: Element, job: FabricJob, boxes: Mapping[int, tuple[float, float, float]], bar_height: float
    ) -> None:
        top, color = self._tops[job.ordinal], job_color(job.ordinal)
        level = boxes[top][1] + bar_height + LANE_HEIGHT * (self._lane_of[job.ordinal] + 0.5) - 6
        ends = []
        for leaf in job.bandwidths:
            path = self._path(leaf)
            points: list[Coordinates] = []
            for node in path[: path.index(top)]:
                x = boxes[node][0] + boxes[node][2] - _LINE_GAP * (self._through[node].index(job.ordinal) + 1)
                points += [(x, boxes[node][1] + bar_height + self.height(node) - 6)] if points else []
                points.append((x, boxes[node][1]))
                if len(points) > 1:
                    points[-2:-2] = [(points[-3][0], points[-2][1])]
            points.append((points[-1][0], level))
            draw_polyline(root, points, job.name, stroke=color, stroke_width=3.0)
            ends.append(points[-1][0])
        draw_line(root, (min(ends), level), (max(ends), level), job.name, stroke=color, stroke_width=3.0)
        label = f"{job_letters(job.ordinal)} {truncate(job.name, _MAX_LABEL_WIDTH, 12)}"
        half, middle = 3.6 * len(label) + 8, (min(ends) + max(ends)) / 2
        link = add_link(root, "jobs", f"Job {job.name}", {"sel": job.address_name})
        box: Style = {"x": middle - half, "y": level - 10, "width": 2 * half, "height": 20.0, "rx": 4.0}
        add_element(link, "rect", **box, fill=color)
        ink = on_job_color(job.ordinal)
        draw_label(link, (middle, level + 4), label, 12, ink, text_anchor="middle", font_weight="600")

    def _shared_top(self, job: FabricJob) -> int | None:
        """Return the lowest node above all of a job's servers; None if they are below different tops."""
        first, *others = (self._path(leaf) for leaf in job.bandwidths)
        return next((node for node in first if all(node in path for path in others)), None)

    def _path(self, node: int) -> list[int]:
        """Return a node and those above it, by id."""
        path = [node]
        while path[-1] in self._fabric.uplinks:
            path.append(self._fabric.uplinks[path[-1]].b_id)
        return path


def _is_free(lane: Sequence[FabricJob], span: set[int], position: Mapping[int, int]) -> bool:
    """Whether no job of a lane is between the first and the last node of a span."""
    spans = [{position[leaf] for leaf in job.bandwidths} for job in lane]
    return all(max(other) < min(span) or max(span) < min(other) for other in spans)
