"""Read the lists in the responses of EC2, HyperPod, Kubernetes and Slurm, for their source readers.

A response with errors, or without its list, comes from a failed call.
"""

from collections.abc import Iterator
from typing import Final

from trninv.importers.json_value import JsonValue, quote_value

_ERRORS: Final = ("errors", "Errors", "error", "Error")
"""Keys of a response that hold errors."""
_MESSAGES: Final = ("description", "error", "message", "Message", "Code")
"""Keys of an error that hold its text; the first one present is used."""
_RETRY_HINT: Final = "run the command again"


def read_items(response: JsonValue, name: str) -> Iterator[JsonValue]:
    """Yield the objects of a response's list, or nothing and note an error if the call failed.

    A failed call must not look like an empty list: that would mean that the fleet is gone or all jobs have ended.
    """
    errors = [error for key in _ERRORS if (error := response.get(key)).raw]
    for error in errors:
        error.add_error(f"reports {quote_value(_error_message(error.raw))}; {_RETRY_HINT}")
    if not isinstance(response.raw, dict) or name not in response.raw:
        response.add_error(f"has no list {name}")
    elif response.get(name).raw is None:
        response.get(name).add_error(f"is null, not a list; {_RETRY_HINT}")
    elif not errors:
        yield from response.get(name).objects()


def _error_message(error: object) -> object:
    """Return the message of an error, or of the first error in a list."""
    first = error[0] if isinstance(error, list) else error
    messages = (first.get(key) for key in _MESSAGES) if isinstance(first, dict) else iter(())
    return next((message for message in messages if isinstance(message, str) and message), first)


def read_objects(response: JsonValue, *kinds: str) -> Iterator[tuple[str, JsonValue]]:
    """Yield Kubernetes objects with their kinds: a list's items, or the response itself if it is of one of ``kinds``.

    The items of a typed list, such as the API's NodeList, may omit their kind.
    """
    kind = response.get("kind").as_text() or ""
    if is_list(response):
        for item in read_items(response, "items"):
            yield item.get("kind").as_text() or kind.removesuffix("List"), item
    elif kind in kinds:
        yield kind, response
    else:
        response.add_error(f"is not a List, {', '.join(kinds[:-1])} or {kinds[-1]}")


def is_list(response: JsonValue) -> bool:
    """Return whether a Kubernetes response is a list of objects."""
    kind = response.get("kind").as_text() or ""
    return kind.endswith("List") or (isinstance(response.raw, dict) and "items" in response.raw)


def next_page_token(response: JsonValue) -> str | None:
    """Return the token for the next page of a Kubernetes list, or None on the last page."""
    return response.get("metadata").get("continue").as_text()
