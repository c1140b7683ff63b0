"""Decide how an operation runs: as one compiled statement, as one compiled question, or field by field.

The document cache stores an `OperationPlan` for each operation, and `Api` runs it. A root field that can be part of the
statement has a `RootCompiler` in its metadata, under the key `compile`.
"""

from collections.abc import Callable, Mapping
from typing import Any

from graphql import GraphQLField, OperationDefinitionNode, OperationType
from sqlalchemy import Select, select

from trninv.database.sql_constructs import Concat
from trninv.graphql.compiler.connection_json import compile_connection
from trninv.graphql.compiler.json_builder import BoundArguments, Variables
from trninv.graphql.compiler.object_json import ObjectCompiler
from trninv.graphql.compiler.question_plan import CompiledQuestion
from trninv.graphql.compiler.selections import Nodes, field_metadata
from trninv.graphql.compiler.statement_plan import DocumentParts, StatementPlan
from trninv.graphql.compiler.table_aliases import TableAliases, or_null
from trninv.graphql.list_conditions import ParameterBinder
from trninv.inventory.schema.thing import Sql, Thing
from trninv.inventory.schema.things import THINGS

RootCompiler = Callable[[ObjectCompiler, GraphQLField, Nodes], Sql]
"""Compiles a root field to a JSON expression."""


class OperationPlan:
    """An operation's root fields, for one combination of its Boolean variables.

    Attributes
    ----------
    roots
        The nodes of each root field by its response key, in the order of the response.
    statement
        The statement, if all root fields compile to SQL; it returns a column for each.
    question
        The compiled question, if the only root field is a question.
    as_of_roots, current_roots
        The root fields asOf, which read the fleet at an earlier time, and all others.

    """

    def __init__(self, document: DocumentParts, operation: OperationDefinitionNode, variables: Variables) -> None:
        runtime = document.schema.get_root_type(operation.operation)
        assert runtime is not None
        self.roots = document.collector(variables).collect(runtime, [operation.selection_set])
        self.as_of_roots = {key: nodes for key, nodes in self.roots.items() if nodes[0].name.value == "asOf"}
        self.current_roots = {key: nodes for key, nodes in self.roots.items() if key not in self.as_of_roots}
        self.statement: StatementPlan | None = None
        self.question: CompiledQuestion | None = None
        if operation.operation is not OperationType.QUERY:
            return
        definitions = [runtime.fields.get(nodes[0].name.value) for nodes in self.roots.values()]
        if definitions and all(map(_is_compiled, definitions, self.roots.values())):
            self.statement = root_plan(document, self.roots)
        elif len(definitions) == 1 and definitions[0] and "question" in field_metadata(definitions[0]):
            (nodes,) = self.roots.values()
            self.question = CompiledQuestion(document, definitions[0], nodes, variables)

    @property
    def introspects(self) -> bool:
        """Whether the operation queries the schema."""
        return any(nodes[0].name.value in ("__schema", "__type") for nodes in self.roots.values())


def _is_compiled(definition: GraphQLField | None, nodes: Nodes) -> bool:
    return "compile" in field_metadata(definition) if definition else nodes[0].name.value == "__typename"


def root_plan(document: DocumentParts, roots: Mapping[str, Nodes]) -> StatementPlan:
    """Return the plan of a statement that returns one column for each of the root fields."""

    def write_query(objects: ObjectCompiler) -> Select[Any]:
        query_type = objects.selections.object_type("Query")

        def column(nodes: Nodes) -> Sql:
            definition = query_type.fields.get(nodes[0].name.value)
            if definition is None:
                return Concat([f'"{query_type.name}"'])  # __typename
            compile_root: RootCompiler = field_metadata(definition)["compile"]
            return compile_root(objects, definition, nodes)

        return select(*(column(nodes).label(f"r{index}") for index, nodes in enumerate(roots.values())))

    return StatementPlan(document, write_query)


def compile_paged_root(kind: Thing) -> RootCompiler:
    """Compile a root field to a page of all rows of a kind."""
    return lambda objects, definition, nodes: compile_connection(
        objects, objects.compile_object, kind, definition, nodes, lambda _: []
    )


def compile_listed_root(kind: Thing) -> RootCompiler:
    """Compile a root field to the list of all rows of a kind; for kinds with few rows."""
    return lambda objects, _, nodes: objects.compile_list(kind, nodes, lambda _: [])


def compile_lookup_root(look_up: Callable[[Mapping[str, Any]], tuple[str, str, Any]]) -> RootCompiler:
    """Compile a root field to the row that its arguments look up, or null.

    Parameters
    ----------
    look_up
        Returns the kind, the column and the value that select the row.

    """

    def compile_root(objects: ObjectCompiler, definition: GraphQLField, nodes: Nodes) -> Sql:
        prefix = objects.next_prefix()

        def bind(arguments: Mapping[str, Any]) -> BoundArguments:
            kind, column, value = look_up(arguments)
            return (kind, column), {f"{prefix}0": value}

        shape = objects.bind_arguments(definition, nodes, bind)
        assert isinstance(shape, tuple)
        kind_name, column = shape
        kind = THINGS[kind_name]
        aliases = TableAliases(kind, objects.numbers)
        column_sql = aliases.adapt(kind.table.c[column])
        where = [column_sql == ParameterBinder(prefix).next_parameter(column_sql)]
        return or_null(aliases.select(select(objects.compile_object(kind, aliases, nodes)), where))

    return compile_root
