"""Who changes something, and why: one limit for both, whatever is changed."""

from typing import Final

from trninv.characters import SAYS, refused
from trninv.errors import LimitError

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
    for name, text in (("who", who), ("why", why)):
        if text is None:
            continue
        if not text.strip() or len(text) > MAX_LENGTH:
            raise LimitError(f"{name}: write 1 to {MAX_LENGTH:,} characters")
        if refused([text]):
            raise LimitError(f"{name} {SAYS}")
