"""The schema with its limits: what a document may cost before it runs, and what an error may tell."""

from functools import lru_cache

import strawberry
from graphql import ASTValidationRule, GraphQLError, ValidationContext
from strawberry.extensions import (
    AddValidationRules,
    MaskErrors,
    MaxTokensLimiter,
    ParserCache,
    ValidationCache,
)
from strawberry.extensions.max_aliases import create_validator as alias_rule
from strawberry.extensions.query_depth_limiter import create_validator as depth_rule
from strawberry.schema.config import StrawberryConfig
from strawberry.types import ExecutionContext

from trninv.errors import DatabaseError, TrninvError
from trninv.graphql.inventory import TYPES
from trninv.graphql.queries import Query
from trninv.graphql.scalars import SCALARS

MAX_DEPTH = 14
MAX_ALIASES = 50
MAX_TOKENS = 5_000
CACHED_DOCUMENTS = 256


def _once_valid(rule: type[ASTValidationRule]) -> type[ASTValidationRule]:
    """A rule that leaves an unknown fragment to the rule of the GraphQL specification."""

    class Rule(rule):  # type: ignore[misc, valid-type] # a class made by strawberry
        def __init__(self, context: ValidationContext) -> None:
            try:
                super().__init__(context)
            except KeyError:
                ASTValidationRule.__init__(self, context)

    return Rule


class _Schema(strawberry.Schema):
    def process_errors(self, errors: list[GraphQLError], execution_context: ExecutionContext | None = None) -> None:
        """Only what is not the question's fault is for the server's log."""
        super().process_errors([error for error in errors if _is_internal(error)], execution_context)


@lru_cache(maxsize=1)
def schema() -> strawberry.Schema:
    # made once: the validation cache keys on the rules, and strawberry's limiters make new ones for each request
    rules: list[type[ASTValidationRule]] = [_once_valid(depth_rule(MAX_DEPTH, None)), alias_rule(MAX_ALIASES)]
    return _Schema(
        query=Query,
        types=TYPES,
        config=StrawberryConfig(scalar_map=SCALARS),
        extensions=[
            lambda: MaxTokensLimiter(max_token_count=MAX_TOKENS),
            lambda: AddValidationRules(rules),
            lambda: ParserCache(maxsize=CACHED_DOCUMENTS),
            lambda: ValidationCache(maxsize=CACHED_DOCUMENTS),
            lambda: MaskErrors(should_mask_error=_is_internal, error_message="internal error: see the server's log"),
        ],
    )


def _is_internal(error: GraphQLError) -> bool:
    """Errors that say what is inside: of the database, or neither the document's nor of trninv's own tree."""
    cause = error.original_error
    return isinstance(cause, DatabaseError) or (
        cause is not None and not isinstance(cause, (TrninvError, GraphQLError))
    )
