"""A sweep as GraphQL shows it: a job, how far it is, and in the end its answer."""

from typing import Annotated, Any

import strawberry

from trninv.errors import UsageError
from trninv.graphql.answers import object_type, word_type
from trninv.graphql.context import AppInfo
from trninv.graphql.jobs import Job, Jobs, JobState
from trninv.routing.questions.sweep import SweepAnswer

Key = Annotated[strawberry.ID, strawberry.argument(description="The job's id.")]


@strawberry.type(description="A sweep that a service is at, or was.")
class SweepJob:
    id: strawberry.ID = strawberry.field(description="What to ask for it by; whoever knows it may.")
    state: Any = strawberry.field(description="What has become of it.", graphql_type=word_type(JobState))
    done: int = strawberry.field(description="Classes of failures that are solved.")
    total: int | None = strawberry.field(description="Of how many; null until the first is solved.")
    error: str | None = strawberry.field(description="Why it failed.")
    result: Any = strawberry.field(
        description="Its answer, as of when it began; null before it is done.",
        graphql_type=object_type(SweepAnswer) | None,
    )

    @classmethod
    def of(cls, job: Job) -> "SweepJob":
        """A job as it is now."""
        return cls(
            id=strawberry.ID(job.id),
            state=job.state,
            done=job.done,
            total=job.total,
            error=job.error,
            result=job.answer,
        )


def jobs_of(info: AppInfo) -> Jobs:
    """The jobs of the service that answers.

    Raises
    ------
    UsageError
        There is no service.

    """
    if info.context.jobs is None:
        raise UsageError("jobs are a service's: start one with trninv serve, or run trninv sweep")
    return info.context.jobs
