"""Parse and validate each GraphQL document once, and look up persisted documents.

Persisted documents are files of the operator; clients send a name or digest instead of the text. `Api` takes an
`Operation` from here for each request; an operation caches its costs and plans, which depend on some of its variables.
"""

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLError,
    GraphQLSchema,
    GraphQLSyntaxError,
    InlineFragmentNode,
    NoSchemaIntrospectionCustomRule,
    OperationDefinitionNode,
    OperationType,
    OverlappingFieldsCanBeMergedRule,
    SelectionSetNode,
    ValidationContext,
    parse,
    specified_rules,
    validate,
)
from graphql.execution.values import VariableValues, get_argument_values, get_variable_values
from strawberry.schema.validation_rules.one_of import OneOfInputValidationRule

from trninv import characters
from trninv.errors import DocumentError, RequestError, UnknownDocumentError, UsageError, VariablesError
from trninv.graphql.compiler import OperationPlan
from trninv.graphql.compiler.selections import field_metadata
from trninv.graphql.compiler.statement_plan import DocumentParts
from trninv.graphql.query_cost import MAX_TOKENS, Cost, check_size, compute_cost

T = TypeVar("T")

MAX_CACHED_DOCUMENTS = 256
"""Maximum number of documents in the cache."""
MAX_CACHED_CHARACTERS = 1_000_000
"""Maximum length of all cached documents together; a parsed document takes about a hundred bytes per character."""
MAX_CHARACTERS = 100_000
"""Maximum length of one document; long values are sent as variables."""
MAX_COMPARISONS = 50_000
"""Maximum number of steps of the overlapping-fields rule; comparing two fields takes two steps."""
_MAX_ERRORS = 20
"""Maximum number of validation errors that a response lists."""
_MAX_VARIABLE_SHAPES = 64
"""Maximum number of cached costs, and of cached plans, of one operation."""


class DocumentErrors(Exception):  # noqa: N818 # several errors in one
    """Errors of graphql-core in a document or its variables; `kind` is the trninv error whose code they get."""

    def __init__(self, kind: type[UsageError], errors: list[GraphQLError]) -> None:
        super().__init__(errors)
        self.kind, self.errors = kind, errors


@dataclass(slots=True)
class Operation:
    """An operation of a valid document, with its cached plans and costs."""

    schema: GraphQLSchema
    node: OperationDefinitionNode
    fragments: Mapping[str, FragmentDefinitionNode]
    hide_suggestions: bool
    field_plans: dict[Hashable, Any] = field(default_factory=dict)
    """Plans of single fields, for `trninv.graphql.compiling_executor`."""
    _plans: dict[Hashable, OperationPlan] = field(default_factory=dict)
    _costs: dict[Hashable, Cost] = field(default_factory=dict)
    _required_scopes: dict[str, str] | None = None

    @property
    def is_query(self) -> bool:
        """Whether the operation is a query."""
        return self.node.operation is OperationType.QUERY

    @property
    def is_subscription(self) -> bool:
        """Whether the operation is a subscription."""
        return self.node.operation is OperationType.SUBSCRIPTION

    def variables(self, values: dict[str, Any]) -> VariableValues:
        """Coerce variables to their types.

        Raises
        ------
        DocumentErrors
            A variable is missing or has the wrong type.
        VariablesError
            A variable has characters that are not allowed.

        """
        if characters.has_forbidden_characters(values):
            raise VariablesError(f"a variable {characters.FORBIDDEN_MESSAGE}")
        definitions = self.node.variable_definitions or ()
        coerced = get_variable_values(
            self.schema, definitions, values, max_errors=10, hide_suggestions=self.hide_suggestions
        )
        if isinstance(coerced, list):
            raise DocumentErrors(VariablesError, coerced)
        return coerced

    def is_cached_for(self, variables: VariableValues) -> bool:
        """Return whether cost and plan for these variables are cached."""
        return _variable_sizes(variables) in self._costs and boolean_values(variables) in self._plans

    def cost(self, variables: VariableValues) -> Cost:
        """Return the operation's cost, which depends only on numbers and list lengths among the variables."""
        compute = partial(compute_cost, self.schema, self.node, self.fragments, variables)
        return get_or_compute(self._costs, _variable_sizes(variables), compute)

    def required_scopes(self) -> dict[str, str]:
        """Return the scope that a token needs for each root field, by name, even if @skip drops it.

        Every mutation declares its scope, and so does a query field that needs more than "read"; introspection needs
        none.
        """
        if self._required_scopes is None:
            self._required_scopes = self._find_required_scopes()
        return self._required_scopes

    def _find_required_scopes(self) -> dict[str, str]:
        root = self.schema.get_root_type(self.node.operation)
        assert root is not None
        definitions = {
            name: root.fields[name] for name in self._root_names(self.node.selection_set) if name[:2] != "__"
        }
        default = {"scope": "read"} if self.is_query else {}
        return {name: (default | dict(field_metadata(definition)))["scope"] for name, definition in definitions.items()}

    def _root_names(self, selections: SelectionSetNode) -> Iterator[str]:
        for node in selections.selections:
            if isinstance(node, FieldNode):
                yield node.name.value
                if node.name.value == "asOf" and node.selection_set:  # all of Query's fields again
                    yield from self._root_names(node.selection_set)
            elif isinstance(node, FragmentSpreadNode):
                yield from self._root_names(self.fragments[node.name.value].selection_set)
            elif isinstance(node, InlineFragmentNode):
                yield from self._root_names(node.selection_set)

    def argument(self, node: FieldNode, name: str, variables: VariableValues) -> Any:
        """Return the value of a root field's argument."""
        root = self.schema.get_root_type(self.node.operation)
        assert root is not None
        definition = root.fields[node.name.value]
        return get_argument_values(definition, node, variables)[name]

    def plan_for(self, variables: VariableValues) -> OperationPlan:
        """Return the plan for these variables; only Boolean ones matter, because @skip and @include use them."""
        create = partial(OperationPlan, DocumentParts(self.schema, self.fragments), self.node, variables)
        return get_or_compute(self._plans, boolean_values(variables), create)


def boolean_values(variables: VariableValues) -> Hashable:
    """Return the Boolean variables, on which plans depend."""
    return tuple(item for item in variables.coerced.items() if isinstance(item[1], bool))


def _variable_sizes(variables: VariableValues) -> Hashable:
    return tuple((name, _variable_size(value)) for name, value in variables.coerced.items())


def _variable_size(value: object) -> Hashable:
    """Return the part of a variable's value that the cost may depend on."""
    if isinstance(value, list):
        return "list", len(value)
    return value if value is None or isinstance(value, int) else "any"


def get_or_compute(
    cache: dict[Hashable, Any], key: Hashable, compute: Callable[[], T], limit: int = _MAX_VARIABLE_SHAPES
) -> T:
    """Return a cached value, or compute and cache it."""
    if (value := cache.get(key)) is None:
        if len(cache) >= limit:
            cache.clear()
        value = cache[key] = compute()
    return value


class DocumentCache:
    """LRU cache of parsed documents, and the persisted documents of a directory; thread safe."""

    def __init__(
        self,
        schema: GraphQLSchema,
        persisted: Path | None = None,
        *,
        persisted_only: bool = False,
        introspection: bool = True,
    ) -> None:
        self._schema, self._persisted_only, self._lock = schema, persisted_only, Lock()
        self._cache: OrderedDict[str, Mapping[str, Operation] | DocumentErrors] = OrderedDict()
        self._cached_characters, self._hide_suggestions = 0, not introspection
        self._rules = [
            _BoundedOverlapRule if rule is OverlappingFieldsCanBeMergedRule else rule for rule in specified_rules
        ]
        self._rules.append(OneOfInputValidationRule)
        self._rules += [] if introspection else [NoSchemaIntrospectionCustomRule]
        self._persisted = _read_persisted(persisted)
        self._allowed_texts = frozenset(self._persisted.values())

    def persisted_text(self, name: str) -> str:
        """Return the text of a persisted document.

        Raises
        ------
        UnknownDocumentError
            No persisted document has this name or digest.

        """
        if name not in self._persisted:
            raise UnknownDocumentError(
                f"no document {name[:80]!r}; send its text as query, or ask the operator to add it"
            )
        return self._persisted[name]

    def is_cached(self, text: str) -> bool:
        """Return whether a document is cached."""
        return text in self._cache

    def operation(self, text: str, name: str | None) -> Operation:
        """Return an operation of a document; the name may be None if the document has only one.

        Raises
        ------
        DocumentErrors
            The document has syntax errors or does not match the schema.
        DocumentError
            The document has no such operation.
        RequestError
            Only persisted documents are served, and this is not one.

        """
        if self._persisted_only and text not in self._allowed_texts:
            raise RequestError("this server answers persisted documents only; send a documentId")
        with self._lock:
            entry = self._cache.get(text)
            if entry is not None:
                self._cache.move_to_end(text)
        if entry is None:
            entry = self._parse(text)
            self._store(text, entry)
        if isinstance(entry, DocumentErrors):
            raise entry
        if name is None and len(entry) == 1:
            return next(iter(entry.values()))
        if name is None or name not in entry:
            names = ", ".join(sorted(filter(None, entry)))
            raise DocumentError(f"operationName: there is no {name!r} in the document; it has {names or 'none'}")
        return entry[name]

    def _store(self, text: str, entry: Mapping[str, Operation] | DocumentErrors) -> None:
        with self._lock:
            self._cached_characters += 0 if text in self._cache else len(text)
            self._cache[text] = entry
            while len(self._cache) > MAX_CACHED_DOCUMENTS or self._cached_characters > MAX_CACHED_CHARACTERS:
                self._cached_characters -= len(self._cache.popitem(last=False)[0])

    def _parse(self, text: str) -> Mapping[str, Operation] | DocumentErrors:
        if len(text) > MAX_CHARACTERS:
            message = (
                f"the document has {len(text):,} characters, more than {MAX_CHARACTERS:,}; send values as variables"
            )
            return DocumentErrors(DocumentError, [GraphQLError(message)])
        try:
            document = parse(text, max_tokens=MAX_TOKENS)
            check_size(document)
            _check_texts(text, document)
            errors = validate(
                self._schema, document, self._rules, max_errors=_MAX_ERRORS, hide_suggestions=self._hide_suggestions
            )
        except GraphQLSyntaxError as error:
            return DocumentErrors(DocumentError, [error])
        except DocumentError as error:
            return DocumentErrors(DocumentError, [GraphQLError(str(error))])
        except RecursionError:
            return DocumentErrors(DocumentError, [GraphQLError("the document is nested too deeply; nest less")])
        return (
            DocumentErrors(DocumentError, [_explain_error(error) for error in errors])
            if errors
            else self._collect_operations(document)
        )

    def _collect_operations(self, document: DocumentNode) -> Mapping[str, Operation]:
        fragments = {
            definition.name.value: definition
            for definition in document.definitions
            if isinstance(definition, FragmentDefinitionNode)
        }
        return {
            definition.name.value if definition.name else "": Operation(
                self._schema, definition, fragments, self._hide_suggestions
            )
            for definition in document.definitions
            if isinstance(definition, OperationDefinitionNode)
        }


class _BoundedOverlapRule(OverlappingFieldsCanBeMergedRule):
    """Overlapping-fields rule with a bounded number of comparisons."""

    def __init__(self, context: ValidationContext) -> None:
        super().__init__(context)
        self.rule_context.remaining_complexity_budget = MAX_COMPARISONS


def _check_texts(text: str, document: DocumentNode) -> None:
    """Refuse strings with characters that `trninv.characters` forbids; only an escape sequence can produce them."""
    token = document.loc.start_token if "\\u" in text and document.loc else None
    while token:
        if characters.has_forbidden_characters(token.value):
            raise DocumentError(f"a string in line {token.line} {characters.FORBIDDEN_MESSAGE}")
        token = token.next


def _explain_error(error: GraphQLError) -> GraphQLError:
    """Replace graphql-core's error for an exhausted comparison budget, which does not say why."""
    if error.message != "Validation aborted.":
        return error
    return GraphQLError("the document selects the same fields too often; merge them, or use several requests")


def _read_persisted(directory: Path | None) -> dict[str, str]:
    """Read the .graphql files of a directory, by name and by sha256:DIGEST."""
    texts: dict[str, str] = {}
    for file in sorted(directory.glob("*.graphql")) if directory else ():
        text = file.read_text(encoding="utf-8")
        texts |= {file.stem: text, f"sha256:{hashlib.sha256(text.encode()).hexdigest()}": text}
    return texts
