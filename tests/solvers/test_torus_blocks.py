"""Blocks of a torus: masks, erosion and a loop over coordinates agree; a slice's limits are the solver's."""

from itertools import product
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trninv import solvers
from trninv.solvers import torus_blocks
from trninv.solvers.torus_blocks import Shape, Torus, contains, intersects, pack_masks, unpack_masks
from trninv.topology.torus import coordinates, node_number

SERVER, ULTRA = Torus((4, 4)), Torus((4, 4, 4))
TORI = [SERVER, ULTRA, Torus((2, 3)), Torus((3, 5)), Torus((8,)), Torus((2, 2, 2))]
GB = 10**9


def by_coordinates(of: Torus, free: int, shape: Shape) -> set[Shape]:
    """Starts of the boxes within a free set: every chip of every box is looked at."""
    here = {coordinates(chip, of.sides) for chip in range(of.chip_count) if free >> chip & 1}
    starts = product(*(range(side if span < side else 1) for span, side in zip(shape, of.sides, strict=True)))
    return {
        start
        for start in starts
        if all(
            tuple((at + by) % side for at, by, side in zip(start, step, of.sides, strict=True)) in here
            for step in product(*map(range, shape))
        )
    }


def by_masks(of: Torus, free: int, shape: Shape) -> set[Shape]:
    return {block.start for block in of.blocks(shape) if free & block.mask == block.mask}


def by_erosion(of: Torus, free: int, shape: Shape) -> set[Shape]:
    anchors = of.anchors(free, shape)
    return {coordinates(chip, of.sides) for chip in range(of.chip_count) if anchors >> chip & 1}


def test_an_ultraserver_has_2197_blocks_and_a_server_169() -> None:
    assert len(ULTRA.shapes) == 64
    assert len(ULTRA.shape_by_mask) == 13**3 == 2197
    assert len(SERVER.shape_by_mask) == 13**2
    sizes = dict.fromkeys(range(1, 65), 0)
    for shape in ULTRA.shape_by_mask.values():
        sizes[prod(shape)] += 1
    assert {size: n for size, n in sizes.items() if n} == {
        1: 64, 2: 192, 3: 192, 4: 240, 6: 384, 8: 160, 9: 192, 12: 288, 16: 60, 18: 192, 24: 96, 27: 64, 32: 12, 36: 48,
        48: 12, 64: 1,
    }  # fmt: skip
    assert sum(len(ULTRA.blocks(shape)) for shape in ULTRA.orientations((2, 2, 4))) == 48


def test_a_full_side_has_one_start_and_a_shape_is_turned_any_way() -> None:
    assert len(ULTRA.blocks((4, 4, 4))) == 1
    assert ULTRA.orientations((16,)) == ULTRA.orientations((5, 1, 1)) == SERVER.orientations((2, 2, 2)) == ()
    assert ULTRA.orientations((4, 4)) == ((1, 4, 4), (4, 1, 4), (4, 4, 1))
    assert SERVER.orientations((1, 2, 1)) == ((1, 2), (2, 1))


def test_every_free_set_of_a_server_has_the_same_boxes_in_three_ways() -> None:
    """All 65,536 sets × all 16 shapes."""
    free = np.arange(1 << 16, dtype=np.uint64)
    for shape in SERVER.shapes:
        blocks = SERVER.blocks(shape)
        masked = contains(free[:, None], pack_masks([block.mask for block in blocks], 16))
        eroded = SERVER.anchors(free, shape)
        for at, block in enumerate(blocks):
            start = np.uint64(node_number(block.start, SERVER.sides))
            assert np.array_equal(masked[:, at], (eroded >> start) & np.uint64(1) == 1)
            inside = [node_number(each, SERVER.sides) for each in _cells(block.start, shape, SERVER.sides)]
            looped = np.all([(free >> np.uint64(chip)) & np.uint64(1) for chip in inside], axis=0)
            assert np.array_equal(masked[:, at], looped)
        assert not (eroded & ~np.uint64(sum(1 << node_number(b.start, SERVER.sides) for b in blocks))).any()


def _cells(start: Shape, shape: Shape, sides: Shape) -> list[Shape]:
    steps = product(*map(range, shape))
    return [tuple((a + b) % side for a, b, side in zip(start, step, sides, strict=True)) for step in steps]


@given(st.sampled_from(TORI), st.data())
def test_erosion_masks_and_a_loop_find_the_same_boxes(of: Torus, data: st.DataObject) -> None:
    gone = data.draw(st.lists(st.integers(0, of.chip_count - 1), max_size=of.chip_count))
    free = (1 << of.chip_count) - 1 & ~sum(1 << chip for chip in set(gone))
    shape = data.draw(st.sampled_from(of.shapes))
    found = by_coordinates(of, free, shape)
    assert by_masks(of, free, shape) == by_erosion(of, free, shape) == found
    array = of.anchors(np.array([free, 0, free], np.uint64), shape)
    assert array.tolist() == [of.anchors(free, shape), 0, of.anchors(free, shape)]


@given(st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=8))
def test_the_largest_block_is_the_first_shape_of_the_order_that_fits(sets: list[int]) -> None:
    order = ULTRA.shapes
    expected = [next((at for at, shape in enumerate(order) if by_masks(ULTRA, free, shape)), 64) for free in sets]
    assert ULTRA.first_fitting_shape(np.array(sets, np.uint64), order).tolist() == expected


@given(st.lists(st.integers(0, 2**144 - 1), min_size=1, max_size=5), st.integers(0, 2**144 - 1))
def test_sets_of_more_chips_than_a_word_has_bits(sets: list[int], other: int) -> None:
    rows, one = pack_masks(sets, 144), pack_masks([other], 144)
    assert rows.shape == (len(sets), 3)
    assert unpack_masks(rows) == sets
    assert contains(rows, one)[:, 0].tolist() == [each & other == other for each in sets]
    assert intersects(rows, one)[:, 0].tolist() == [bool(each & other) for each in sets]


@pytest.mark.parametrize("shape", ULTRA.shapes, ids=str)
def test_a_slice_of_an_ultraserver_gathers_what_the_solver_says(shape: Shape) -> None:
    _gathers((4, 4, 4), (64 * GB, 128 * GB, 128 * GB), shape)


@pytest.mark.parametrize("sides", [(4, 4), (2, 3), (3, 5), (6,), (2, 2, 3)], ids=str)
def test_slices_of_other_tori_gather_what_the_solver_says(sides: Shape) -> None:
    for shape in Torus(sides).shapes:
        _gathers(sides, (48 * GB, 128 * GB, 96 * GB)[: len(sides)], shape)


def _gathers(sides: Shape, carries: tuple[int, ...], shape: Shape) -> None:
    graph = torus_blocks.block_graph(sides, carries, shape)
    solved = solvers.collectives.all_gather_rate(graph, dict.fromkeys(graph, 1))
    exact = int(solved.rate * (len(graph) - 1)) if solved else 0
    assert torus_blocks.block_all_gather(sides, carries, shape) == exact


@pytest.mark.parametrize("shape", [each for each in ULTRA.shapes if prod(each) <= 16], ids=str)
def test_a_slice_has_the_bisection_that_the_solver_finds(shape: Shape) -> None:
    carries = (64 * GB, 128 * GB, 128 * GB)
    graph = torus_blocks.block_graph(ULTRA.sides, carries, shape)
    solved = solvers.bisection.bisect(graph, list(graph))
    assert torus_blocks.block_bisection(ULTRA.sides, carries, shape) == solved.lower == solved.upper


def test_limits_are_those_of_the_design() -> None:
    """Rows × columns × servers there, servers first here; GB/s."""
    table = {
        (1, 2, 2): (256, 256), (1, 1, 4): (256, 256), (2, 1, 2): (192, 128), (4, 1, 1): (128, 128),
        (1, 2, 4): (384, 512), (2, 2, 2): (320, 256), (4, 1, 2): (256, 256), (1, 3, 4): (384, 768),
        (2, 2, 3): (320, 384), (3, 2, 2): (320, 512), (1, 4, 4): (512, 1024), (2, 2, 4): (448, 512),
        (4, 2, 2): (384, 512), (2, 4, 4): (576, 1024), (4, 2, 4): (512, 1024), (4, 4, 4): (640, 2048),
        (3, 1, 2): (160, 256),
    }  # fmt: skip
    for shape, (gather, half) in table.items():
        found = torus_blocks.block_limits(ULTRA.sides, (64 * GB, 128 * GB, 128 * GB), shape)
        assert (found.all_gather // GB, found.bisection // GB) == (gather, half), shape
