"""Check the author and reason of a change, and tell a person's cordons from those of an import.

If an import of a scheduler's jobs leaves a job out, it cordons that job's servers, so that trninv gives them to no
other job. The scheduler itself knows the job, so files exported for it don't keep new jobs off these servers.
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
    if not who:  # such as a request without a token
        raise InvalidArgumentError("who is missing: name who makes the change")
    for name, value in (("who", who), ("why", why)):
        if value is None:
            continue
        if not value.strip() or len(value) > MAX_LENGTH:
            raise InvalidArgumentError(f"{name}: write 1 to {MAX_LENGTH:,} characters")
        if has_forbidden_characters([value]):
            raise InvalidArgumentError(f"{name} {FORBIDDEN_MESSAGE}")


OMITTED_JOB_PREFIX: Final = "an import left out a job that runs here: "
"""The prefix of the reason (`why`) of cordons that an import sets."""


def is_deliberate(cordon: FromClause) -> ColumnElement[bool]:
    """Return the condition that a row of ``cordon`` is open and was set by a person, not by an import."""
    return and_(cordon.c.ended_at.is_(None), ~cordon.c.why.startswith(OMITTED_JOB_PREFIX, autoescape=True))
