"""Declare changes of the inventory as annotated functions.

The changes are in trninv/inventory/changes, trninv/reconcile/changes and trninv/placement/changes, one file each;
`trninv.placement.changes` lists them. A change is a function on a connection inside a write transaction: its signature
declares the parameters and its docstring is the description that users see.

    @change(scope="operate", returns={"job": "The job as it is now."}, undo="…", examples=("release train-7b",))
    def release(
        connection: Connection,
        job: Annotated[str, Argument("Name of the job.")],
        *,
        who: str,
        why: str = "",
        source: str = "command",
    ) -> Job:
        '''End a job and release its chips.'''

``who``, ``why`` and ``source`` have no ``Annotated``: every interface fills them in. A ``why`` without a default is
required; a function without a ``why`` stores no reason. The mutation with its input and payload, the permission,
the method of `Fleet`, the command and the reference page (docs/reference/changes.md) are made from the declaration.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Annotated, Any, Concatenate, Final, Generic, ParamSpec, TypeVar, get_origin

from sqlalchemy import Connection, Engine

from trninv.database.engine import read_transaction, write_transaction
from trninv.database.tables import TOKEN_SCOPES
from trninv.inventory.parameter import (
    Choices,
    Declaration,
    Parameter,
    camel_case,
    render_choices,
    render_names,
    render_parameters,
    shared_choices,
)
from trninv.rendered_text import Rendered

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True)
class Change(Declaration, Generic[P, R]):
    """A change of the inventory; call it with a connection inside a write transaction.

    Attributes
    ----------
    function
        Takes the connection, the parameters and, by keyword, the author.
    scope
        The scope that a token needs to make the change.
    returns
        Description of each field of the result by name. One field is the whole result; several are its attributes.
    undo
        How to undo the change.
    examples
        Command lines that make the change, without ``trninv``.
    payload
        Name of the mutation's payload type in GraphQL; changes with the same result share one.
    field
        Its field of GraphQL's Mutation type; empty if it has none.
    command
        Its command, such as ``token create``; where an option of another command makes the change, with that option.
    render
        Yields the lines and tables that show a result in the terminal.
    prepare
        If `run` shall read and compute before it waits for other writers: takes a connection and the function's
        arguments, and returns what the function takes as ``prepared``.

    """

    function: Callable[Concatenate[Connection, P], R]
    scope: str
    returns: Mapping[str, str]
    undo: str
    examples: Sequence[str]
    payload: str
    field: str
    command: str
    render: Callable[[Any], Rendered]
    prepare: Callable[..., Any] | None = None

    def __call__(self, connection: Connection, /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Make the change on a connection inside a write transaction."""
        return self.function(connection, *args, **kwargs)

    def run(self, engine: Engine, /, *args: Any, dry_run: bool = False, **kwargs: Any) -> R:
        """Make the change in a transaction of its own, with values as a caller passes them.

        A dry run returns the same result and rolls the transaction back.

        Raises
        ------
        TrninvError
            A value is malformed or beyond its limits, or the change is refused.

        """
        values = self.coerce_values(*args, **kwargs)
        if self.prepare:
            with read_transaction(engine) as connection:
                values["prepared"] = self.prepare(connection, **values)
        with write_transaction(engine, commits=not dry_run) as connection:
            return self.function(connection, **values)  # type: ignore[call-arg] # bound to P

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """Parameters that are declared with ``Annotated``: neither the author nor what only Python callers pass."""
        declared = self.signature.parameters.values()
        return tuple(Parameter.from_signature(item) for item in declared if get_origin(item.annotation) is Annotated)

    @property
    def takes_author(self) -> bool:
        """Whether the author is stored with the change."""
        return "who" in self.signature.parameters

    @property
    def takes_progress(self) -> bool:
        """Whether the function reports its progress."""
        return "progress" in self.signature.parameters

    @property
    def needs_author(self) -> bool:
        """Whether the change is refused without an author."""
        return self.takes_author and self.signature.parameters["who"].default is inspect.Parameter.empty

    @property
    def method_parameters(self) -> list[inspect.Parameter]:
        """Parameters of the method of `Fleet`: the function's, except those that `run` passes, and ``dry_run``."""
        dry_run = inspect.Parameter("dry_run", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=bool)
        return [
            *(item for item in self.signature.parameters.values() if item.name not in ("source", "prepared")),
            dry_run,
        ]

    @property
    def takes_reason(self) -> bool:
        """Whether a reason is stored with the change."""
        return "why" in self.signature.parameters

    @property
    def needs_reason(self) -> bool:
        """Whether the change is refused without a reason."""
        return self.takes_reason and self.signature.parameters["why"].default is inspect.Parameter.empty

    @property
    def result_types(self) -> dict[str, Any]:
        """Types of the result's fields by name."""
        annotation = self.signature.return_annotation
        if len(self.returns) == 1:
            return dict.fromkeys(self.returns, annotation)
        type_by_name = {field.name: field.type for field in fields(annotation)}
        return {name: type_by_name[name] for name in self.returns}

    def result_values(self, result: Any) -> dict[str, Any]:  # Any: what the function returned
        """Return the result's fields by name."""
        if len(self.returns) == 1:
            return dict.fromkeys(self.returns, result)
        return {name: getattr(result, name) for name in self.returns}

    def coerce_values(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Convert a caller's arguments to the parameters' types.

        Raises
        ------
        InvalidArgumentError
            A value is malformed or beyond its limits.

        """
        by_name = {parameter.name: parameter for parameter in self.parameters}
        passed = self.signature.bind(*args, **kwargs).arguments
        return {
            name: coerce_value(by_name[name], value) if name in by_name else value for name, value in passed.items()
        }


def coerce_value(parameter: Parameter, value: Any) -> Any:  # Any: as a caller passes it
    """Convert a caller's value of a change's parameter to its type; see `Parameter.coerce`."""
    # unlike a question's addresses, the items are not counted here: the change's function limits their number
    if parameter.value_type is tuple:
        return (value,) if isinstance(value, str) else tuple(value)
    return parameter.coerce(value)


def change(
    *,
    scope: str,
    returns: Mapping[str, str],
    undo: str,
    examples: Sequence[str],
    payload: str = "",
    field: str | None = None,
    command: str | None = None,
    render: Callable[[Any], Rendered] = lambda result: iter([str(result)]),
    prepare: Callable[..., Any] | None = None,
) -> Callable[[Callable[Concatenate[Connection, P], R]], Change[P, R]]:
    """Declare a change; see `Change`. By default `field`, `payload` and `command` derive from the function's name.

    Raises
    ------
    TypeError
        `scope` is not one of TOKEN_SCOPES.

    """
    if scope not in TOKEN_SCOPES:
        raise TypeError(f"scope {scope!r}: a change needs one of {', '.join(TOKEN_SCOPES)}")

    def declare(function: Callable[Concatenate[Connection, P], R]) -> Change[P, R]:
        name = camel_case(function.__name__)
        payload_name = payload or f"{name[0].upper()}{name[1:]}Payload"
        field_name = name if field is None else field
        command_name = function.__name__.replace("_", "-") if command is None else command
        return Change(function, scope, returns, undo, examples, payload_name, field_name, command_name, render, prepare)

    return declare


_HEADER: Final = """# Changes

Generated from the declarations in trninv/inventory/changes, trninv/reconcile/changes and trninv/placement/changes by
`python -m trninv.placement.changes`; do not edit this page.

You can make each change on the command line (the title of its section), in GraphQL (the same name in camel case) and
in Python (in snake case, a method of `Fleet`). Sections say what differs. A change is one transaction: it is made as a
whole or, if anything is refused, not at all. `--dry-run`, or `dry_run=True` in Python, prints or returns the same
result and rolls the transaction back.

`--who` (by default you) and `--why` are stored with the change's events; `trninv events` lists them. In GraphQL, the
name of the token is stored. If the service requires tokens, a mutation needs one with the scope named here. The
[glossary](../explanation/glossary.md) explains the terms.

Several parameters take these values:
"""


def render_page(changes: Sequence[Change[..., Any]]) -> str:
    """Return the reference page of changes as Markdown."""
    shared = shared_choices(parameter for declared in changes for parameter in declared.parameters)
    lines = (line for declared in changes for line in _render_change(declared, shared))
    return "\n".join([_HEADER, *render_choices(shared), "", *lines])


def _render_change(change: Change[..., Any], shared: Mapping[Choices, str]) -> Iterator[str]:
    yield f"## {change.command}\n"
    yield f"{change.description}\n"
    field = f"in GraphQL `{change.field}`" if change.field else "not in GraphQL"
    names = render_names(change, change.command, change.field, field)
    yield f"Scope: {change.scope}{f'; {names}' if names else ''}.\n"
    yield from render_parameters(change.parameters, shared)
    if change.takes_reason:
        yield f"| `why` | {'required' if change.needs_reason else ''} | The reason, stored with the change. |"
    yield "\nReturns:\n"
    yield from (f"- `{name}`: {description}" for name, description in change.returns.items())
    yield f"\nTo undo it: {change.undo}\n"
    yield from (f"    trninv {example}" for example in change.examples)
    yield ""
