"""The plan of an operation: which of its root fields are compiled, and the statement that they become."""

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from graphql import FragmentDefinitionNode, GraphQLField, GraphQLSchema, OperationDefinitionNode, OperationType
from sqlalchemy import Dialect, select
from strawberry.utils.str_converters import to_camel_case as camel

from trninv.graphql.arguments import At
from trninv.graphql.compile import lists
from trninv.graphql.compile.answers import Asked
from trninv.graphql.compile.builder import Bound, Variables
from trninv.graphql.compile.objects import Objects
from trninv.graphql.compile.scope import Scope, or_null
from trninv.graphql.compile.selections import Nodes, Selections
from trninv.graphql.conditions import Binder
from trninv.graphql.queries import LISTS, opened
from trninv.inventory.address import level_of
from trninv.inventory.fields import Sql
from trninv.inventory.kinds import KINDS
from trninv.inventory.template import Template

_LISTS: Final = {camel(name): KINDS[kind] for name, kind in LISTS.items()}
_EVERY: Final = {"sources": KINDS["source"]}
_SINGLE: Final[Mapping[str, Callable[[Mapping[str, Any]], tuple[str, str, Any]]]] = {
    "cluster": lambda given: ("cluster", "slug", given["slug"]),
    "node": lambda given: (opened(given["id"])[0], "id", opened(given["id"])[1]),
    "resolve": lambda given: (level_of(given["address"]), "id", At(given["address"], level_of(given["address"]))),
}
"""Kind, column and value of what a field finds."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A statement of one row with the JSON of each compiled field.

    Attributes
    ----------
    keys
        Response keys of the statement's columns.
    constants
        Parameters that are the same for every request.

    """

    keys: tuple[str, ...]
    sql: str
    constants: Mapping[str, Any]


class Outline:
    """What an operation's root fields are, for one choice of its directives.

    Attributes
    ----------
    roots
        Response keys and nodes, in the order of the response.
    plain
        Keys of the fields that are compiled.
    asked
        The question that it is, if it is one that shows only what the answer holds.
    then, now
        The roots that are of other moments, and those of the document's own.

    """

    def __init__(
        self,
        schema: GraphQLSchema,
        operation: OperationDefinitionNode,
        fragments: Mapping[str, FragmentDefinitionNode],
        variables: Variables,
    ) -> None:
        self._schema, self._fragments = schema, fragments
        self._query = Selections(schema, fragments, variables).type("Query")
        of_query = operation.operation is OperationType.QUERY
        runtime = self._query if of_query else schema.mutation_type
        assert runtime is not None
        selections = Selections(schema, fragments, variables)
        self.roots = selections.within(runtime, [operation.selection_set])
        self.asked = Asked.of(schema, selections, self.roots) if of_query else None
        self.then = {key: nodes for key, nodes in self.roots.items() if nodes[0].name.value == "asOf"}
        self.now = {key: nodes for key, nodes in self.roots.items() if key not in self.then}
        plain = {"__typename", *_LISTS, *_EVERY, *_SINGLE} if of_query else set()
        self.plain = tuple(key for key, nodes in self.roots.items() if nodes[0].name.value in plain)
        self._plans: dict[Hashable, tuple[Plan, list[Callable[[Variables], Bound]]]] = {}

    @property
    def introspects(self) -> bool:
        """Whether the schema itself is asked for."""
        return any(nodes[0].name.value in ("__schema", "__type") for nodes in self.roots.values())

    def plan(self, dialect: Dialect, variables: Variables) -> tuple[Plan, dict[str, Any]]:
        """The statement for these variables, and its parameters; addresses among them are still to be resolved.

        Raises
        ------
        TrninvError
            Arguments are wrong.

        """
        for plan, binders in self._plans.values():
            looks, bound = _bind(binders, variables)
            if self._plans.get(looks, (None,))[0] is plan:
                return plan, {**plan.constants, **bound}
        plan, binders = self._compile(dialect, variables)
        looks, bound = _bind(binders, variables)
        if len(self._plans) >= _MOST_PLANS:
            self._plans.clear()
        self._plans[looks] = plan, binders
        return plan, {**plan.constants, **bound}

    def _compile(self, dialect: Dialect, variables: Variables) -> tuple[Plan, list[Callable[[Variables], Bound]]]:
        objects = Objects(Selections(self._schema, self._fragments, variables), dialect.name, variables)
        columns = [self._root(objects, self.roots[key]).label(f"r{at}") for at, key in enumerate(self.plain)]
        compiled = select(*columns).compile(dialect=dialect)
        constants = {name: value for name, value in compiled.params.items() if value is not None}
        return Plan(self.plain, str(compiled), constants), objects.binders

    def _root(self, objects: Objects, nodes: Nodes) -> Sql:
        name = nodes[0].name.value
        if name == "__typename":
            return Template(['"Query"'])
        definition = self._query.fields[name]
        if name in _LISTS:
            return lists.connection(objects, objects.thing, _LISTS[name], definition, nodes, lambda _: [])
        if name in _EVERY:
            return objects.every(_EVERY[name], nodes, lambda _: [])
        return _single(objects, name, definition, nodes)


_MOST_PLANS = 64
"""Of one operation: looks of its arguments."""


def _bind(
    binders: Iterable[Callable[[Variables], Bound]], variables: Variables
) -> tuple[tuple[Hashable, ...], dict[str, Any]]:
    looks: list[Hashable] = []
    parameters: dict[str, Any] = {}
    for binder in binders:
        look, bound = binder(variables)
        looks.append(look)
        parameters |= bound
    return tuple(looks), parameters


def _single(objects: Objects, name: str, definition: GraphQLField, nodes: Nodes) -> Sql:
    prefix = objects.prefix()

    def bind(given: Mapping[str, Any]) -> Bound:
        kind, column, value = _SINGLE[name](given)
        return (kind, column), {f"{prefix}0": value}

    look = objects.call(definition, nodes, bind)
    assert isinstance(look, tuple)
    kind, column = KINDS[look[0]], look[1]
    scope = Scope(kind, objects.names)
    wanted = scope.adapt(kind.table.c[column])
    where = [wanted == Binder(prefix).take(wanted)]
    return or_null(scope.select(select(objects.thing(kind, scope, nodes)), where))
