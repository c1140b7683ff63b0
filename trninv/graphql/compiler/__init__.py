"""Compile a document's fields into one SQL statement that writes their JSON.

The statement depends on the document and on the shape of its arguments; values are bound, so that a plan serves every
request of the same shape. A single routing question has a plan that serializes its answer. Everything else (mutations,
introspection, several questions at once) is left to the executor.
"""

from trninv.graphql.compiler.operation import CompiledStatement, OperationPlan
from trninv.graphql.compiler.question_plan import CompiledQuestion

__all__ = ["CompiledQuestion", "CompiledStatement", "OperationPlan"]
