"""Plain inventory compiled: a document's fields become one SQL statement that writes their JSON.

What the statement looks like depends on the document and on the looks of its arguments; the values are bound, so that a
plan serves every request that looks the same. The answer to a routing question is written by a plan too. The rest
(mutations, introspection, several questions at once) is left to the executor.
"""

from trninv.graphql.compile.answers import CompiledQuestion
from trninv.graphql.compile.plan import CompiledStatement, OperationPlan

__all__ = ["CompiledQuestion", "CompiledStatement", "OperationPlan"]
