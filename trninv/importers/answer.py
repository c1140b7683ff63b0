"""The lists in answers of managers: an answer with errors, or without its list, is that of a call that failed."""

from collections.abc import Iterator
from typing import Final

from trninv.importers.value import Value, shown

_ERRORS: Final = ("errors", "Errors", "error", "Error")
_MESSAGES: Final = ("description", "error", "message", "Message", "Code")
_AGAIN: Final = "run the command again"


def items(answer: Value, name: str) -> Iterator[Value]:
    """Yield the objects of an answer's list; nothing, and a fault, where the call failed.

    One failed call must never declare a fleet gone, or all jobs ended.
    """
    failed = [error for key in _ERRORS if (error := answer.get(key)).of]
    for error in failed:
        error.fault(f"says {shown(_message(error.of))}: {_AGAIN}")
    if not isinstance(answer.of, dict) or name not in answer.of:
        answer.fault(f"has no list {name}")
    elif answer.get(name).of is None:
        answer.get(name).fault(f"is null, not a list: {_AGAIN}")
    elif not failed:
        yield from answer.get(name).objects()


def _message(error: object) -> object:
    """Return the words of an error, or of the first of several."""
    first = error[0] if isinstance(error, list) else error
    words = (first.get(key) for key in _MESSAGES) if isinstance(first, dict) else iter(())
    return next((word for word in words if isinstance(word, str) and word), first)


def objects(answer: Value, *kinds: str) -> Iterator[tuple[str, Value]]:
    """Yield Kubernetes' objects with their kinds: those of a list, or the answer itself if it is one of these kinds.

    A typed list, such as a NodeList of the API, names the kind of its items once.
    """
    kind = answer.get("kind").as_text() or ""
    if is_list(answer):
        for each in items(answer, "items"):
            yield each.get("kind").as_text() or kind.removesuffix("List"), each
    elif kind in kinds:
        yield kind, answer
    else:
        answer.fault(f"is no List, {', '.join(kinds[:-1])} or {kinds[-1]}")


def is_list(answer: Value) -> bool:
    """Whether Kubernetes answers with a list of objects."""
    kind = answer.get("kind").as_text() or ""
    return kind.endswith("List") or (isinstance(answer.of, dict) and "items" in answer.of)


def next_page(answer: Value) -> str | None:
    """Return the token of Kubernetes' next page; None of the last page."""
    return answer.get("metadata").get("continue").as_text()
