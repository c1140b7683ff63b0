"""Documents, parsed and validated once; persisted ones by their names."""

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    GraphQLError,
    GraphQLSchema,
    GraphQLSyntaxError,
    NoSchemaIntrospectionCustomRule,
    OperationDefinitionNode,
    OperationType,
    OverlappingFieldsCanBeMergedRule,
    ValidationContext,
    parse,
    specified_rules,
    validate,
)
from graphql.execution.values import VariableValues, get_argument_values, get_variable_values
from strawberry.schema.validation_rules.one_of import OneOfInputValidationRule

from trninv import characters
from trninv.errors import DocumentError, RequestError, UnknownDocumentError, UsageError, VariablesError
from trninv.graphql.compile import Outline
from trninv.graphql.compile.selections import Selections
from trninv.graphql.limits import Cost, cost
from trninv.graphql.size import MAX_TOKENS, check

T = TypeVar("T")

CACHED = 256
"""Documents that a process remembers."""
CACHED_CHARACTERS = 1_000_000
"""Of all of them together; what is parsed takes some hundred times as many bytes."""
MAX_CHARACTERS = 100_000
"""Of a document; long values are variables."""
MAX_COMPARISONS = 50_000
"""Steps in which fields of the same name are compared; a field with a field is two."""
_MOST_ERRORS = 20
_MOST_LOOKS = 64
"""Of the variables of one operation."""


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
    hide_names: bool
    _outlines: dict[Hashable, Outline] = field(default_factory=dict)
    _costs: dict[Hashable, Cost] = field(default_factory=dict)

    @property
    def reads(self) -> bool:
        """Whether it is a query."""
        return self.node.operation is OperationType.QUERY

    @property
    def listens(self) -> bool:
        """Whether it is a subscription."""
        return self.node.operation is OperationType.SUBSCRIPTION

    def variables(self, given: dict[str, Any]) -> VariableValues:
        """Variables coerced to their types.

        Raises
        ------
        Faults
            One is missing, or of another type.

        """
        wanted = self.node.variable_definitions or ()
        found = get_variable_values(self.schema, wanted, given, max_errors=10, hide_suggestions=self.hide_names)
        if isinstance(found, list):
            raise Faults(VariablesError, found)
        return found

    def is_known_with(self, variables: VariableValues) -> bool:
        """Whether its cost and outline are remembered."""
        return _sizes(variables) in self._costs and _choices(variables) in self._outlines

    def cost(self, variables: VariableValues) -> Cost:
        """What it costs with these variables, of which only numbers and lengths count."""
        find = partial(cost, self.schema, self.node, self.fragments, variables)
        return _remembered(self._costs, _sizes(variables), find)

    def fields(self, variables: VariableValues) -> list[FieldNode]:
        """Its root fields."""
        root = self.schema.get_root_type(self.node.operation)
        assert root is not None
        found = Selections(self.schema, self.fragments, variables).within(root, [self.node.selection_set])
        return [nodes[0] for nodes in found.values()]

    def argument(self, node: FieldNode, name: str, variables: VariableValues) -> Any:
        """The value of an argument of one of its root fields."""
        root = self.schema.get_root_type(self.node.operation)
        assert root is not None
        definition = root.fields[node.name.value]
        return get_argument_values(definition, node, variables)[name]

    def outline(self, variables: VariableValues) -> Outline:
        """What its fields are; Boolean variables may be those of directives."""
        find = partial(Outline, self.schema, self.node, self.fragments, variables)
        return _remembered(self._outlines, _choices(variables), find)


def _choices(variables: VariableValues) -> Hashable:
    return tuple(each for each in variables.coerced.items() if isinstance(each[1], bool))


def _sizes(variables: VariableValues) -> Hashable:
    return tuple((name, _size(value)) for name, value in variables.coerced.items())


def _size(value: object) -> Hashable:
    """What of a variable's value a cost may depend on."""
    if isinstance(value, list):
        return "list", len(value)
    return value if value is None or isinstance(value, int) else "any"


def _remembered(known: dict[Hashable, T], key: Hashable, find: Callable[[], T]) -> T:
    if (found := known.get(key)) is None:
        if len(known) >= _MOST_LOOKS:
            known.clear()
        found = known[key] = find()
    return found


class Documents:
    """Every document that was asked lately, and those that an operator keeps in a directory; thread safe."""

    def __init__(
        self, schema: GraphQLSchema, persisted: Path | None = None, *, only: bool = False, introspection: bool = True
    ) -> None:
        self._schema, self._only, self._lock = schema, only, Lock()
        self._known: OrderedDict[str, Mapping[str, Operation] | Faults] = OrderedDict()
        self._characters, self._hide_names = 0, not introspection
        self._rules = [_Overlapping if rule is OverlappingFieldsCanBeMergedRule else rule for rule in specified_rules]
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

    def knows(self, text: str) -> bool:
        """Whether a document was read before and is remembered."""
        return text in self._known

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
            self._remember(text, found)
        if isinstance(found, Faults):
            raise found
        if name is None and len(found) == 1:
            return next(iter(found.values()))
        if name is None or name not in found:
            named = ", ".join(sorted(filter(None, found)))
            raise DocumentError(f"operationName: there is no {name!r} in the document; it has {named or 'none'}")
        return found[name]

    def _remember(self, text: str, found: Mapping[str, Operation] | Faults) -> None:
        with self._lock:
            self._characters += 0 if text in self._known else len(text)
            self._known[text] = found
            while len(self._known) > CACHED or self._characters > CACHED_CHARACTERS:
                self._characters -= len(self._known.popitem(last=False)[0])

    def _read(self, text: str) -> Mapping[str, Operation] | Faults:
        if len(text) > MAX_CHARACTERS:
            long = f"the document has {len(text):,} characters of {MAX_CHARACTERS:,} at most: send values as variables"
            return Faults(DocumentError, [GraphQLError(long)])
        try:
            document = parse(text, max_tokens=MAX_TOKENS)
            check(document)
            _check_texts(text, document)
            errors = validate(
                self._schema, document, self._rules, max_errors=_MOST_ERRORS, hide_suggestions=self._hide_names
            )
        except GraphQLSyntaxError as error:
            return Faults(DocumentError, [error])
        except DocumentError as error:
            return Faults(DocumentError, [GraphQLError(str(error))])
        except RecursionError:
            return Faults(DocumentError, [GraphQLError("the document is nested too deeply")])
        return Faults(DocumentError, [_worded(each) for each in errors]) if errors else self._operations(document)

    def _operations(self, document: DocumentNode) -> Mapping[str, Operation]:
        fragments = {each.name.value: each for each in document.definitions if isinstance(each, FragmentDefinitionNode)}
        return {
            each.name.value if each.name else "": Operation(self._schema, each, fragments, self._hide_names)
            for each in document.definitions
            if isinstance(each, OperationDefinitionNode)
        }


class _Overlapping(OverlappingFieldsCanBeMergedRule):
    """The rule that compares fields of the same name each with each, for no longer than it may."""

    def __init__(self, context: ValidationContext) -> None:
        super().__init__(context)
        self.rule_context.remaining_complexity_budget = MAX_COMPARISONS


def _check_texts(text: str, document: DocumentNode) -> None:
    token = document.loc.start_token if "\\u" in text and document.loc else None
    while token:
        if characters.refused(token.value):
            raise DocumentError(f"a string in line {token.line} {characters.SAYS}")
        token = token.next


def _worded(error: GraphQLError) -> GraphQLError:
    """graphql-core's errors, of which one does not say why."""
    if error.message != "Validation aborted.":
        return error
    return GraphQLError("the document selects the same fields too often: merge them, or ask in several requests")


def _persisted(directory: Path | None) -> dict[str, str]:
    """Texts of the .graphql files in a directory, by name and by sha256:DIGEST."""
    found: dict[str, str] = {}
    for file in sorted(directory.glob("*.graphql")) if directory else ():
        text = file.read_text(encoding="utf-8")
        found |= {file.stem: text, f"sha256:{hashlib.sha256(text.encode()).hexdigest()}": text}
    return found
