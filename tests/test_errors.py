"""One tree of errors, drawn in its docstring, with stable codes."""

import re

import pytest

import trninv.errors as module
from trninv.errors import OutOfMemoryError, TrninvError, explain_memory_error, suggestion


def _tree(root: type[TrninvError]) -> list[type[TrninvError]]:
    return [root, *(found for kind in root.__subclasses__() for found in _tree(kind))]


def test_every_error_is_exported_and_drawn() -> None:
    names = [kind.__name__ for kind in _tree(TrninvError)]
    assert [*sorted(names), "explain_memory_error", "suggestion"] == module.__all__
    drawn = re.findall(r"\w+Error\b", module.__doc__ or "")
    assert sorted(drawn) == sorted(names)


@pytest.mark.parametrize("kind", _tree(TrninvError))
def test_codes_are_distinct_and_reach_graphql(kind: type[TrninvError]) -> None:
    assert [other for other in _tree(TrninvError) if other.code == kind.code] == [kind]
    assert kind("why").extensions == {"code": kind.code}
    assert kind.exit_status in (1, 2)


@pytest.mark.parametrize("kind", _tree(TrninvError)[1:])
def test_every_error_says_what_to_do(kind: type[TrninvError]) -> None:
    assert kind.remedy
    assert kind.__doc__ != kind.__base__.__doc__


def test_offers_the_nearest_word_or_lists_the_known() -> None:
    assert suggestion("trn2.48xlarge", ["trn2-16.48xlarge", "rack"]) == "did you mean trn2-16.48xlarge?"
    assert suggestion("zzz", ["b", "a"]) == "known: a, b"
    jobs = [f"slurm:{number}" for number in range(1_020, 3_000)]
    assert suggestion("zzz", jobs) == f"known: {', '.join(jobs[:20])}, and more"
    assert suggestion("zzz", []) == "none is known"


def test_an_allocation_that_the_interpreter_lost_is_short_memory() -> None:
    for text in ("error return without exception set", "<method> returned NULL without setting an exception"):
        assert isinstance(explain_memory_error(SystemError(text)), OutOfMemoryError)
    assert isinstance(explain_memory_error(MemoryError()), OutOfMemoryError)
    other = SystemError("bad argument to internal function")
    assert explain_memory_error(other) is other
