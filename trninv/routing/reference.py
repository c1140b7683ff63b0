"""The reference page of the questions, made from their declarations."""

from collections.abc import Iterable, Iterator

from trninv.routing.answer import Answer
from trninv.routing.question import Parameter, Question
from trninv.routing.shown import shown

_HEAD = """# Questions

Made from the declarations in trninv/routing/questions and trninv/jobs/questions by `python -m trninv.jobs.reference`;
do not edit it here.

Each question is asked on the command line, in GraphQL and in Python (`fleet.ask(find(NAME), …)`, or a method of
`Fleet`). To suppose things down or derated, use `--down` and `--derate`, `fleet.what_if(…)`, or `whatIf` in GraphQL,
where a question then costs twice its price. Questions about placement suppose jobs as well: `--with JOB=PLACE` holds
a place, `--without JOB` ends a job (`what_if(with_=…, without=…)`). Every bandwidth is of one direction.
"""


def page(questions: Iterable[Question]) -> str:
    """The page as Markdown."""
    common = [f"- `{each.name}`: {each.says}" for each in shown(Answer)]
    own = (line for of in questions for line in _lines(of))
    return "\n".join([_HEAD, "Every answer has, beside its own:\n", *common, "", *own])


def _lines(of: Question) -> Iterator[str]:
    yield f"## {of.command}\n"
    yield f"{of.says}\n"
    field = f"`{of.field}`" if of.field else f"the mutation `{of.job}`, as a job"
    yield f"Command `trninv {of.command}`; in GraphQL {field}; in Python `{of.name}`. Price: {of.price:,}.\n"
    yield "| parameter | default | what it means |"
    yield "| --- | --- | --- |"
    yield from map(_row, of.parameters)
    common = {each.name for each in shown(Answer)}
    yield "\nThe answer:\n"
    yield from (f"- `{each.name}`: {each.says}" for each in shown(of.answer) if each.name not in common)
    yield ""
    yield from (f"    trninv {example}" for example in of.examples)
    yield ""


def _row(of: Parameter) -> str:
    default = "required" if of.required else "" if of.default in (None, ()) else f"`{str(of.default).lower()}`"
    words = "".join(f" `{word.name.lower()}`: {word.says}" for word in of.words)
    return f"| `{of.name}` | {default} | {of.says}{words} |"
