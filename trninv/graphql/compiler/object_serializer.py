"""Compile selections to a serializer, which writes answers and other objects as JSON.

A serializer is composed once from attribute getters, and takes a tenth of the time that graphql-core takes field by
field. Some values are late, which means that they are read only when the object is written: inventory rows to which the
object refers (`trninv.graphql.scalars.Reference`; one statement reads all rows to which a field refers), pages of its
lists, and fields whose metadata has a function of the fleet and the object under the key `late`.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import Any, Final

import orjson
from graphql import (
    GraphQLField,
    GraphQLList,
    GraphQLNonNull,
    GraphQLObjectType,
    GraphQLOutputType,
    get_named_type,
    is_leaf_type,
)
from graphql.execution.values import get_argument_values
from orjson import Fragment
from sqlalchemy import Connection, select

from trninv.database.tables import TABLES
from trninv.graphql.compiler.json_builder import Variables
from trninv.graphql.compiler.selections import Nodes, declared_field, field_metadata
from trninv.graphql.compiler.statement_plan import DocumentParts, PageRowsPlan, RowPlan
from trninv.graphql.pagination import InMemoryPage
from trninv.graphql.scalars import AddressReference, FactReference, Reference, RowReference
from trninv.inventory.address.lookup import resolve
from trninv.inventory.schema.things import THINGS
from trninv.routing.answer import total_count
from trninv.routing.fleet import BaseFleet

Serializer = Callable[[Any], Any]
"""Returns the selected part of a value as JSON data, in which `_LateValue` and `_LateRow` stand for late values."""
_KIND_BY_TYPE: Final = {kind.type: kind for kind in THINGS.values()}
"""Declared kinds of inventory rows, by the name of their GraphQL type."""


@dataclass(frozen=True, slots=True)
class _LateValue:
    """A placeholder for a part of an object that depends on variables or the database; `read` returns the part."""

    read: Callable[[BaseFleet, Variables], Any]


class _FieldRows:
    """Reads the rows to which one field refers, together for all objects that have the field."""

    def __init__(self, document: DocumentParts, nodes: Nodes) -> None:
        self._document, self._nodes, self._plans = document, nodes, dict[str, RowPlan]()

    def fetch(
        self, connection: Connection, variables: Variables, references: Iterable[Reference]
    ) -> dict[Reference, Fragment | None]:
        """Return the JSON of the row that each reference names, or None if the row does not exist."""
        rows = dict(_find_rows(connection, set(references)))
        ids_by_kind = defaultdict[str, list[int]](list)
        for row in filter(None, rows.values()):
            ids_by_kind[row.kind].append(row.id)
        json_by_kind = {kind: self._plan(kind).fetch(connection, variables, ids) for kind, ids in ids_by_kind.items()}
        return {reference: json_by_kind[row.kind].get(row.id) if row else None for reference, row in rows.items()}

    def _plan(self, kind: str) -> RowPlan:
        if kind not in self._plans:
            self._plans[kind] = RowPlan(self._document, THINGS[kind], self._nodes)
        return self._plans[kind]


@dataclass(frozen=True, slots=True)
class _LateRow:
    """A placeholder for a row to which an object refers."""

    field: _FieldRows
    reference: Reference


def _find_rows(connection: Connection, references: set[Reference]) -> Iterator[tuple[Reference, RowReference | None]]:
    """Yield each reference with the row that it names, or None if no fact matches."""
    facts = [reference for reference in references if isinstance(reference, FactReference)]
    fact_ids = _find_facts(connection, facts) if facts else {}
    for reference in references:
        match reference:
            case AddressReference(address):
                place = resolve(connection, address)
                yield reference, RowReference(place.level, place.id)
            case FactReference(subject, attribute):
                fact_id = fact_ids.get((subject, attribute))
                yield reference, None if fact_id is None else RowReference("fact", fact_id)
            case RowReference():
                yield reference, reference


def _find_facts(connection: Connection, facts: Iterable[FactReference]) -> dict[tuple[str, str], int]:
    """Return the ids of the preferred facts about the given facts' subjects, by subject and attribute."""
    table = TABLES["fact"]
    has_subject = table.c.subject.in_({fact.subject for fact in facts})
    query = select(table.c.subject, table.c.attribute, table.c.id).where(has_subject, table.c.preference == 0)
    return {(subject, attribute): fact_id for subject, attribute, fact_id in connection.execute(query)}


class ObjectSerializer:
    """Writes the selected part of an object, or of a list of objects, as JSON.

    Attributes
    ----------
    is_late
        Whether a part of the JSON depends on variables or on the database.
    asks
        Whether writing an object asks routing questions, which takes long.

    """

    def __init__(
        self, document: DocumentParts, output_type: GraphQLOutputType, nodes: Nodes, variables: Variables
    ) -> None:
        builder = _SerializerBuilder(document, variables)
        self._serialize = builder.build(output_type, nodes)
        self.is_late, self.asks = builder.is_late, builder.asks

    def json(self, value: object) -> bytes:
        """Encode a value; only for a serializer for which `is_late` is false."""
        return orjson.dumps(self._serialize(value), None, orjson.OPT_PASSTHROUGH_DATACLASS)

    def read_json(self, value: object, fleet: BaseFleet, variables: Variables) -> bytes:
        """Encode a value; read its late parts from the fleet, which must be the snapshot that the value comes from."""
        if not self.is_late:
            return self.json(value)
        data = self._serialize(value)
        late_items, values = _find_late_items(data), dict[Any, Any]()
        references_by_field = defaultdict[_FieldRows, list[Reference]](list)
        for item in late_items:
            if isinstance(item, _LateRow):
                references_by_field[item.field].append(item.reference)
            else:
                values[item] = item.read(fleet, variables)
                late_items += _find_late_items(values[item])
        for field, references in references_by_field.items():
            with fleet.connect() as connection:
                rows = field.fetch(connection, variables, references)
            values |= {_LateRow(field, reference): row for reference, row in rows.items()}
        return orjson.dumps(data, values.__getitem__, orjson.OPT_PASSTHROUGH_DATACLASS)


def _find_late_items(data: object) -> list[_LateValue | _LateRow]:
    """Return the placeholders in JSON data.

    They are not read inside orjson's callback, because orjson hides the cause of an error that is raised there.
    """
    items = list[_LateValue | _LateRow]()
    orjson.dumps(data, items.append, orjson.OPT_PASSTHROUGH_DATACLASS)
    return items


class _SerializerBuilder:
    """Composes the serializer of a document's selections."""

    def __init__(self, document: DocumentParts, variables: Variables) -> None:
        self._document, self._selections = document, document.collector(variables)
        self.is_late = self.asks = False

    def build(self, output_type: GraphQLOutputType, nodes: Nodes) -> Serializer:
        """Return the serializer for values of a type."""
        if not isinstance(output_type, GraphQLNonNull):
            serialize = self._build_non_null(output_type, nodes)
            return lambda value: None if value is None else serialize(value)
        serialize = self._build_non_null(output_type.of_type, nodes)

        def serialize_required(value: Any) -> Any:
            if value is None:
                raise TypeError(f"null where the schema has {output_type}")
            return serialize(value)

        return serialize_required

    def _build_non_null(self, output_type: GraphQLOutputType, nodes: Nodes) -> Serializer:
        if isinstance(output_type, GraphQLList):
            serialize_item = self.build(output_type.of_type, nodes)
            return lambda values: [serialize_item(value) for value in values]
        if is_leaf_type(output_type):
            coerce: Serializer = output_type.coerce_output_value
            return coerce
        kind = _KIND_BY_TYPE.get(get_named_type(output_type).name)
        if isinstance(output_type, GraphQLObjectType) and not (kind and (kind.relations or kind.lists)):
            # all fields are attributes, so no row is read: an event, as it happens, may not be visible in the database
            return self._build_object(output_type, nodes)
        self.is_late, rows = True, _FieldRows(self._document, nodes)

        kind_name = kind.name if kind else ""

        def refer(value: Any) -> _LateRow:  # a link or fact in an answer is no Reference, but has the id of its row
            return _LateRow(rows, value if isinstance(value, Reference) else RowReference(kind_name, value.id))

        return refer

    def _build_object(self, object_type: GraphQLObjectType, nodes: Nodes) -> Serializer:
        members = [
            (key, *self._build_member(object_type, nodes_below))
            for key, nodes_below in self._selections.fields_below(object_type, nodes).items()
        ]
        return lambda value: {key: serialize(get_member(value)) for key, get_member, serialize in members}

    def _build_member(self, object_type: GraphQLObjectType, nodes: Nodes) -> tuple[Serializer, Serializer]:
        """Return the getter of a member and the serializer of its value."""
        name = nodes[0].name.value
        if name == "__typename":
            return lambda _: object_type.name, _identity
        definition = object_type.fields[name]
        metadata, attribute = field_metadata(definition), declared_field(definition).python_name
        if "late" in metadata:
            return _identity, self._build_late(definition, nodes)
        if "is_page" in metadata:
            return _identity, self._build_page(definition, attribute, nodes)
        get_value = partial(_get_optional, attribute) if "is_optional" in metadata else attrgetter(attribute)
        return get_value, self.build(definition.type, nodes)

    def _build_late(self, definition: GraphQLField, nodes: Nodes) -> Serializer:
        """Return the function that creates the placeholder for a late member of an object."""
        metadata, serialize = field_metadata(definition), self.build(definition.type, nodes)
        read: Callable[[BaseFleet, Any], Any] = metadata["late"]
        self.is_late, self.asks = True, self.asks or "asks" in metadata
        return lambda value: _LateValue(lambda fleet, _: serialize(read(fleet, value)))

    def _build_page(self, definition: GraphQLField, attribute: str, nodes: Nodes) -> Serializer:
        """Return the function that creates the placeholder for a page of an object's list of rows or addresses."""
        self.is_late = True
        kind = _KIND_BY_TYPE.get(get_named_type(definition.type).name.removesuffix("Connection"))
        if kind is None:
            serialize = self.build(definition.type, nodes)

            def write_page(items: Any, variables: Variables) -> Any:
                arguments = get_argument_values(definition, nodes[0], variables)
                return serialize(InMemoryPage.from_items(items, str, arguments))

            return lambda value: _LateValue(lambda _, variables: write_page(getattr(value, attribute), variables))
        plan = PageRowsPlan(self._document, kind, definition, nodes)

        def read_page(value: Any, fleet: BaseFleet, variables: Variables) -> Fragment:
            ids = [item.id for item in getattr(value, attribute)]
            with fleet.connect() as connection:
                return plan.fetch(connection, variables, ids, total_count(value, attribute))

        return lambda value: _LateValue(partial(read_page, value))


def _identity(value: Any) -> Any:
    return value


def _get_optional(attribute: str, value: object) -> Any:
    return getattr(value, attribute, None)
