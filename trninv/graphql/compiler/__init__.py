"""Compile a document's fields: inventory to SQL statements that return JSON, questions to plans that write answers.

The text of a statement depends on the document and on the shape of its arguments: which tests and sort keys there are,
without their values. Values are bound as parameters, so that one statement serves every request of the same shape.

`OperationPlan` tells `trninv.graphql.api` whether a whole operation compiles. If not,
graphql-core resolves it field by field, and `trninv.graphql.compiling_executor` compiles the fields below which
everything is inventory or an answer.
"""

from trninv.graphql.compiler.operation import OperationPlan
from trninv.graphql.compiler.question_plan import CompiledQuestion

__all__ = ["CompiledQuestion", "OperationPlan"]
