"""Choose the fields of a GraphQL type that a tool returns, as the text of a selection set."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

from graphql import (
    GraphQLField,
    GraphQLInterfaceType,
    GraphQLList,
    GraphQLNonNull,
    GraphQLObjectType,
    GraphQLOutputType,
    get_named_type,
    is_leaf_type,
    is_required_argument,
)

from trninv.graphql import graphql_schema
from trninv.graphql.compiler.selections import field_metadata

MAX_DEPTH: Final = 5
"""How deep objects are nested in an answer."""
_OMITTED: Final = frozenset(
    {"facts", "fact", "baseline", "instances", "clientMutationId", "pageInfo", "edges", "aggregates"}
)
"""Fields that no answer shows: evidence is a resource, and an answer in a scenario has the difference."""
_NAMES_MACHINES: Final = frozenset({"PlacementsAnswer", "Incident", "ClosedIncident"})
"""Types that show their instances and hosts nevertheless, because what the agent does next names the machines."""
_EVIDENCE: Final = (
    "definition wiringSource disputed assumed facts { subject attribute value unit asWritten quote formula note "
    "picked disputed assumed differsIn source { slug title publisher date kind } }"
)
_QUANTITIES: Final = {"Bandwidth": "gigabytesPerSecond", "Capacity": "gibibytes", "Duration": "microseconds"}
"""The only field shown of a quantity, by its type."""


def select_answer(field: GraphQLField) -> str:
    """Return the selection set of what an agent sees of a field's value; empty for a scalar."""
    return _select(field.type, MAX_DEPTH, ())


def select_evidence(field: GraphQLField) -> str:
    """Return the selection set of the evidence for an answer, or "" if the field's type has none."""
    bare_type = get_named_type(field.type)
    has_evidence = isinstance(bare_type, GraphQLObjectType) and {"definition", "facts"} <= bare_type.fields.keys()
    return f"{{ {_EVIDENCE} }}" if has_evidence else ""


def select_sources(field: GraphQLField) -> str:
    """Return the fields that name the sources of an answer, to be added to its selection set."""
    return "facts { subject attribute asWritten disputed assumed source { slug } }" if select_evidence(field) else ""


def _select_kinds(kinds: Sequence[GraphQLObjectType]) -> str:
    """Return a fragment for each kind of thing, with the fields that have the same type in every kind that has them."""
    types = defaultdict[str, set[str]](set)
    for kind in kinds:
        for name, field in kind.fields.items():
            types[name].add(str(field.type))
    fragments = (
        f"... on {kind.name} {{ "
        + " ".join(
            member for member in _select_members(kind, 2, (kind.name,)) if len(types[member.partition(" ")[0]]) == 1
        )
        + " }"
        for kind in kinds
    )
    return f"{{ __typename {' '.join(fragments)} }}"


def _select(output_type: GraphQLOutputType, depth: int, enclosing: tuple[str, ...]) -> str:
    """Return the selection set of a type; what is not a row of a list is only named."""
    bare_type = get_named_type(output_type)
    if is_leaf_type(bare_type):
        return ""
    if isinstance(bare_type, GraphQLInterfaceType) and not enclosing:
        types = graphql_schema.core_schema(graphql_schema.schema()).get_possible_types(bare_type)
        return _select_kinds(types)
    if not isinstance(bare_type, GraphQLObjectType):
        fields = bare_type.fields if isinstance(bare_type, GraphQLInterfaceType) else {}
        return "{ __typename address }" if "address" in fields else "{ __typename }"
    if bare_type.name in _QUANTITIES:
        return f"{{ {_QUANTITIES[bare_type.name]} }}"
    is_thing = any(interface.name == "Node" for interface in bare_type.interfaces)
    if is_thing and enclosing and not _is_connection(enclosing[-1]):
        identity = [name for name in ("address", "name", "slug", "state") if name in bare_type.fields]
        return f"{{ {' '.join(identity or ['id'])} }}"
    members = " ".join(_select_members(bare_type, depth, (*enclosing, bare_type.name)))
    return f"{{ {members} }}" if members else "{ __typename }"


def _select_members(bare_type: GraphQLObjectType, depth: int, enclosing: tuple[str, ...]) -> Iterator[str]:
    for name, field in bare_type.fields.items():
        member = get_named_type(field.type)
        is_in_row = any(map(_is_connection, enclosing[:-1]))
        if name == "instances" and bare_type.name in _NAMES_MACHINES:
            yield f"{name} {_select(field.type, depth - 1, enclosing)}"
            continue
        if name in _OMITTED or member.name in enclosing or any(map(is_required_argument, field.args.values())):
            continue
        if is_in_row and (_is_list(field) or "price" in field_metadata(field)):
            continue  # it would multiply the cost of the document
        if is_leaf_type(member):
            if name != "id" or "address" not in bare_type.fields:
                yield name
        elif depth > 1:
            yield f"{name} {_select(field.type, depth - 1, enclosing)}"
    if _is_connection(bare_type.name):
        yield "pageInfo { hasNextPage endCursor }"


def _is_connection(type_name: str) -> bool:
    return type_name.endswith("Connection")


def _is_list(field: GraphQLField) -> bool:
    """Whether a field has many objects."""
    bare_type = field.type.of_type if isinstance(field.type, GraphQLNonNull) else field.type
    if is_leaf_type(get_named_type(bare_type)):
        return False
    return isinstance(bare_type, GraphQLList) or _is_connection(get_named_type(bare_type).name)
