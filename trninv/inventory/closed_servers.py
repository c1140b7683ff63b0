"""Tell a cordon set by a person from one set by an import that omitted a job running on the server.

Servers that an import cordoned are not free for new jobs, but its scheduler knows the job and is not told to drain
them.
"""

from typing import Final

from sqlalchemy import ColumnElement, FromClause, and_

OMITTED_JOB_PREFIX: Final = "an import left out a job that runs here: "
"""The prefix of the reason for cordons that an import sets."""


def is_deliberate(closing: FromClause) -> ColumnElement[bool]:
    """Test whether a cordon is open and was set by a person."""
    return and_(closing.c.until.is_(None), ~closing.c.why.startswith(OMITTED_JOB_PREFIX, autoescape=True))
