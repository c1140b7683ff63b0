"""Find the first rows of a list that is ordered by columns of the rows' model, such as the memory of chips.

The order of models is that of their rows, and rows of one model are ordered by id. So the first rows are among the
first of each model, which an index by model finds; a sort of all rows would grow with the fleet.
"""

from typing import Any

from sqlalchemy import Column, FromClause, Select, Table, select, true

from trninv.database.sql_constructs import OrderedJoin
from trninv.graphql.compiler.json_builder import JsonBuilder
from trninv.graphql.compiler.table_aliases import TableAliases
from trninv.graphql.list_arguments import NO_TESTS, ArgumentShape, find_field
from trninv.graphql.list_conditions import sort_direction, sort_keys
from trninv.inventory.schema.thing import Sql, Thing


def first_rows(kind: Thing, shape: ArgumentShape, limit: Sql, builder: JsonBuilder) -> Select[tuple[int]] | None:
    """Return a query of the ids of a list's first rows; None if the list is not ordered by its model, or has a filter.

    Parameters
    ----------
    limit
        How many rows, as PostgreSQL's planner should see it.
    """
    model_key = _model_key(kind, shape)
    if model_key is None or shape.filter != NO_TESTS or shape.after or shape.before:
        return None
    aliases, rows = TableAliases(kind, builder.numbers), kind.table.alias(f"f{next(builder.numbers)}")
    keys, descends = zip(*sort_keys(kind, shape, aliases.adapt, builder.writer), strict=True)
    models = aliases.adapt(next(iter(model_key.foreign_keys)).column).table
    is_of_model = rows.c[model_key.name] == models.c.id
    first_ids = select(rows.c.id).where(is_of_model).limit(limit).correlate(models)
    first_ids = first_ids.order_by(*sort_direction([rows.c.id], [False], backwards=shape.backwards))
    if builder.dialect == "sqlite":
        key = keys[-1]
        tables: FromClause = OrderedJoin(models, key.table, key.in_(first_ids))
    else:
        lateral = first_ids.lateral(f"l{next(builder.numbers)}")
        key, tables = lateral.c.id, models.join(lateral, true())
    order = sort_direction((*keys[:-1], key), descends, backwards=shape.backwards)
    return select(key).select_from(tables).order_by(*order).limit(limit).correlate(None)


def _model_key(kind: Thing, shape: ArgumentShape) -> "Column[Any] | None":
    """Return the indexed foreign key of the only table whose columns a list is ordered by, if there is one."""
    fields = [find_field(kind, name).filter_expression for name, _ in shape.order]
    ordered = {field.table if isinstance(field, Column) else None for field in fields}
    for index in kind.table.indexes if isinstance(kind.table, Table) else ():
        key: Column[Any] = next(iter(index.columns))
        for foreign_key in key.foreign_keys:
            model = foreign_key.column.table
            if ordered == {model} and model in kind.joins and kind.joins[model][0].compare(model.c.id == key):
                return key
    return None
