"""Who closed a server: somebody, or an import that left out a job which runs there.

What an import closes is not free for jobs placed here. Its scheduler knows the job: it is not told to drain the server.
"""

from typing import Final

from sqlalchemy import ColumnElement, FromClause, and_

OMITTED_JOB_PREFIX: Final = "an import left out a job that runs here: "
"""How the reason begins of a server that an import closed."""


def is_deliberate(closing: FromClause) -> ColumnElement[bool]:
    """Whether a closing has not ended and is somebody's will."""
    return and_(closing.c.until.is_(None), ~closing.c.why.startswith(OMITTED_JOB_PREFIX, autoescape=True))
