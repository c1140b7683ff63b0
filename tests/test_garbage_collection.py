"""Full garbage collections of a service or a pull take a limited share of its time."""

import gc
from collections.abc import Iterator

import pytest

from trninv.garbage_collection import MAX_SHARE, NEVER, limited_full_collections


class _Clock:
    """A clock that a full collection advances by a second."""

    now = 0.0

    def __call__(self) -> float:
        return self.now

    def advance(self, phase: str, info: dict[str, int]) -> None:
        self.now += phase == "stop" and info["generation"] == 2


@pytest.fixture
def clock() -> Iterator[_Clock]:
    clock = _Clock()
    gc.callbacks.insert(0, clock.advance)
    yield clock
    gc.callbacks.remove(clock.advance)


def test_the_next_full_collection_waits_for_its_share_of_the_time(clock: _Clock) -> None:
    with limited_full_collections(clock):
        assert gc.get_freeze_count()
        gc.collect()
        assert gc.get_threshold()[2] == NEVER
        clock.now = 1 + 1 / MAX_SHARE - 0.001
        gc.collect(1)
        assert gc.get_threshold()[2] == NEVER
        clock.now = 1 + 1 / MAX_SHARE
        gc.collect(1)
        assert gc.get_threshold()[2] != NEVER
    assert not gc.get_freeze_count()


def test_everything_is_as_before_at_the_end(clock: _Clock) -> None:
    before = gc.get_threshold(), list(gc.callbacks)
    with limited_full_collections(clock):
        gc.collect()
    assert (gc.get_threshold(), gc.callbacks) == before
