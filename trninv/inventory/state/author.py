"""Check who makes a change, and why.

Servers that an import cordoned are not free for new jobs, but its scheduler knows the job and is not told to drain
them.
"""

from typing import Final

from sqlalchemy import ColumnElement, FromClause, and_

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


OMITTED_JOB_PREFIX: Final = "an import left out a job that runs here: "
"""The prefix of the reason for cordons that an import sets."""


def is_deliberate(cordon: FromClause) -> ColumnElement[bool]:
    """Test whether a cordon is open and was set by a person."""
    return and_(cordon.c.ended_at.is_(None), ~cordon.c.why.startswith(OMITTED_JOB_PREFIX, autoescape=True))
