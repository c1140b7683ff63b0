"""Who changes something, and why: one limit for both, whatever is changed."""

from typing import Final

from trninv.characters import FORBIDDEN_MESSAGE, has_forbidden_characters
from trninv.errors import InvalidArgumentError

MAX_LENGTH: Final = 1_000
"""Characters of who or why."""


def check_author(who: str, why: str | None = None) -> None:
    """Refuse a who or why that is missing, too long or not writable.

    Parameters
    ----------
    why
        None where no reason is needed.

    Raises
    ------
    LimitError

    """
    for name, value in (("who", who), ("why", why)):
        if value is None:
            continue
        if not value.strip() or len(value) > MAX_LENGTH:
            raise InvalidArgumentError(f"{name}: write 1 to {MAX_LENGTH:,} characters")
        if has_forbidden_characters([value]):
            raise InvalidArgumentError(f"{name} {FORBIDDEN_MESSAGE}")
