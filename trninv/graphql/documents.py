"""Documents, parsed and validated once; persisted ones by their names."""

import hashlib
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

from graphql import (
    ASTValidationRule,
    FragmentDefinitionNode,
    GraphQLError,
    GraphQLSchema,
    GraphQLSyntaxError,
    NoSchemaIntrospectionCustomRule,
    OperationDefinitionNode,
    OperationType,
    ValidationContext,
    parse,
    specified_rules,
    validate,
)
from graphql.execution.values import VariableValues, get_variable_values
from strawberry.extensions.max_aliases import create_validator as alias_rule
from strawberry.extensions.query_depth_limiter import create_validator as depth_rule
from strawberry.schema.validation_rules.one_of import OneOfInputValidationRule

from trninv.errors import DocumentError, RequestError, UnknownDocumentError, UsageError, VariablesError
from trninv.graphql.compile import Outline
from trninv.graphql.limits import Cost, cost

MAX_DEPTH = 14
MAX_ALIASES = 50
MAX_TOKENS = 5_000
CACHED = 256
"""Documents that a process remembers."""
_MOST_OUTLINES = 64


class Faults(Exception):  # noqa: N818 # several errors in one
    """Errors of a document as GraphQL words them."""

    def __init__(self, kind: type[UsageError], errors: list[GraphQLError]) -> None:
        super().__init__(errors)
        self.kind, self.errors = kind, errors


@dataclass(slots=True)
class Operation:
    """An operation of a valid document, with what is known of it."""

    schema: GraphQLSchema
    node: OperationDefinitionNode
    fragments: Mapping[str, FragmentDefinitionNode]
    _outlines: dict[tuple[Any, ...], Outline] = field(default_factory=dict)
    _cost: Cost | None = None

    @property
    def reads(self) -> bool:
        """Whether it is a query."""
        return self.node.operation is OperationType.QUERY

    def variables(self, given: dict[str, Any]) -> VariableValues:
        """Variables coerced to their types.

        Raises
        ------
        Faults
            One is missing, or of another type.

        """
        found = get_variable_values(self.schema, self.node.variable_definitions or (), given, max_errors=10)
        if isinstance(found, list):
            raise Faults(VariablesError, found)
        return found

    def cost(self, variables: VariableValues) -> Cost:
        """What it costs with these variables."""
        if self.node.variable_definitions:
            return cost(self.schema, self.node, self.fragments, variables)
        if self._cost is None:
            self._cost = cost(self.schema, self.node, self.fragments, variables)
        return self._cost

    def outline(self, variables: VariableValues) -> Outline:
        """What its fields are; Boolean variables may be those of directives."""
        key = tuple(value for value in variables.coerced.values() if isinstance(value, bool))
        if key not in self._outlines:
            if len(self._outlines) >= _MOST_OUTLINES:
                self._outlines.clear()
            self._outlines[key] = Outline(self.schema, self.node, self.fragments, variables)
        return self._outlines[key]


class Documents:
    """Every document that was asked lately, and those that an operator keeps in a directory; thread safe."""

    def __init__(
        self, schema: GraphQLSchema, persisted: Path | None = None, *, only: bool = False, introspection: bool = True
    ) -> None:
        self._schema, self._only, self._lock = schema, only, Lock()
        self._known: OrderedDict[str, Mapping[str, Operation] | Faults] = OrderedDict()
        self._rules = [*specified_rules, _once_valid(depth_rule(MAX_DEPTH, None)), alias_rule(MAX_ALIASES)]
        self._rules.append(OneOfInputValidationRule)
        self._rules += [] if introspection else [NoSchemaIntrospectionCustomRule]
        self._persisted = _persisted(persisted)
        self._allowed = frozenset(self._persisted.values())

    def named(self, name: str) -> str:
        """The text of a persisted document.

        Raises
        ------
        UnknownDocumentError
            There is none of that name or digest.

        """
        if name not in self._persisted:
            raise UnknownDocumentError(f"no document {name[:80]!r}: send it as query, or ask the operator to add it")
        return self._persisted[name]

    def operation(self, text: str, name: str | None) -> Operation:
        """The operation of a document, by its name if it has several.

        Raises
        ------
        Faults
            Of syntax, or of the schema.
        DocumentError
            It has no such operation.
        RequestError
            Only persisted documents are served, and it is none.

        """
        if self._only and text not in self._allowed:
            raise RequestError("this server answers persisted documents only: send a documentId")
        with self._lock:
            found = self._known.get(text)
            if found is not None:
                self._known.move_to_end(text)
        if found is None:
            found = self._read(text)
            with self._lock:
                self._known[text] = found
                while len(self._known) > CACHED:
                    self._known.popitem(last=False)
        if isinstance(found, Faults):
            raise found
        if name is None and len(found) == 1:
            return next(iter(found.values()))
        if name is None or name not in found:
            named = ", ".join(sorted(filter(None, found)))
            raise DocumentError(f"operationName: there is no {name!r} in the document; it has {named or 'none'}")
        return found[name]

    def _read(self, text: str) -> Mapping[str, Operation] | Faults:
        try:
            document = parse(text, max_tokens=MAX_TOKENS)
            errors = validate(self._schema, document, self._rules, max_errors=20)
        except GraphQLSyntaxError as error:
            return Faults(DocumentError, [error])
        except RecursionError:
            return Faults(DocumentError, [GraphQLError("the document is nested too deeply")])
        if errors:
            return Faults(DocumentError, errors)
        fragments = {each.name.value: each for each in document.definitions if isinstance(each, FragmentDefinitionNode)}
        operations = [each for each in document.definitions if isinstance(each, OperationDefinitionNode)]
        return {each.name.value if each.name else "": Operation(self._schema, each, fragments) for each in operations}


def _once_valid(rule: type[ASTValidationRule]) -> type[ASTValidationRule]:
    """A rule that leaves an unknown fragment to the rule of the GraphQL specification."""

    class Rule(rule):  # type: ignore[misc, valid-type] # a class made by strawberry
        def __init__(self, context: ValidationContext) -> None:
            try:
                super().__init__(context)
            except KeyError:
                ASTValidationRule.__init__(self, context)

    return Rule


def _persisted(directory: Path | None) -> dict[str, str]:
    """Texts of the .graphql files in a directory, by name and by sha256:DIGEST."""
    found: dict[str, str] = {}
    for file in sorted(directory.glob("*.graphql")) if directory else ():
        text = file.read_text(encoding="utf-8")
        found |= {file.stem: text, f"sha256:{hashlib.sha256(text.encode()).hexdigest()}": text}
    return found
