"""Check who makes a change, and why."""

from typing import Final

from trninv.characters import FORBIDDEN_MESSAGE, has_forbidden_characters
from trninv.errors import InvalidArgumentError

MAX_LENGTH: Final = 1_000
"""The maximum length of `who` and of `why`, in characters."""


def check_author(who: str, why: str | None = None) -> None:
    """Refuse a `who` or `why` that is empty, too long or has a forbidden character.

    Parameters
    ----------
    why
        None where no reason is needed.
    """
    for name, value in (("who", who), ("why", why)):
        if value is None:
            continue
        if not value.strip() or len(value) > MAX_LENGTH:
            raise InvalidArgumentError(f"{name}: write 1 to {MAX_LENGTH:,} characters")
        if has_forbidden_characters([value]):
            raise InvalidArgumentError(f"{name} {FORBIDDEN_MESSAGE}")
