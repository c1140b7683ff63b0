"""Render the reference page of the questions from their declarations."""

from collections.abc import Iterable, Iterator

from trninv.routing.answer import Answer
from trninv.routing.question import Question, QuestionParameter
from trninv.routing.shown import answer_fields

_HEADER = """# Questions

Made from the declarations in trninv/routing/questions and trninv/jobs/questions by `python -m trninv.jobs.reference`;
do not edit it here.

Each question is asked on the command line, in GraphQL and in Python (`fleet.ask(find(NAME), …)`, or a method of
`Fleet`). To suppose things down or derated, use `--down` and `--derate`, `fleet.what_if(…)`, or `whatIf` in GraphQL,
where a question then costs twice its price. Questions about placement suppose jobs as well: `--with JOB=PLACE` holds
a place, `--without JOB` ends a job (`what_if(with_=…, without=…)`). Every bandwidth is of one direction.
"""


def render_page(questions: Iterable[Question]) -> str:
    """Return the page as Markdown."""
    common = [f"- `{answer_field.name}`: {answer_field.description}" for answer_field in answer_fields(Answer)]
    lines = (line for question in questions for line in _render_question(question))
    return "\n".join([_HEADER, "Every answer has, beside its own:\n", *common, "", *lines])


def _render_question(question: Question) -> Iterator[str]:
    yield f"## {question.command}\n"
    yield f"{question.description}\n"
    field = f"`{question.field}`" if question.field else f"the mutation `{question.job_mutation}`, as a job"
    yield (
        f"Command `trninv {question.command}`; in GraphQL {field}; in Python `{question.name}`. Price: "
        f"{question.cost:,}.\n"
    )
    yield "| parameter | default | what it means |"
    yield "| --- | --- | --- |"
    yield from map(_render_parameter, question.parameters)
    common = {answer_field.name for answer_field in answer_fields(Answer)}
    yield "\nThe answer:\n"
    yield from (
        f"- `{answer_field.name}`: {answer_field.description}"
        for answer_field in answer_fields(question.answer_type)
        if answer_field.name not in common
    )
    yield ""
    yield from (f"    trninv {example}" for example in question.examples)
    yield ""


def _render_parameter(parameter: QuestionParameter) -> str:
    default = (
        "required"
        if parameter.is_required
        else ""
        if parameter.default in (None, ())
        else f"`{str(parameter.default).lower()}`"
    )
    choices = "".join(f" `{choice.name.lower()}`: {choice.description}" for choice in parameter.choices)
    return f"| `{parameter.name}` | {default} | {parameter.description}{choices} |"
