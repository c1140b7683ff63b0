"""Write SQL expressions that return JSON, for `trninv.graphql.compiler`.

`Concat` becomes one printf on SQLite and a plain concatenation on PostgreSQL; both are faster than the databases' JSON
functions and than encoding rows in Python (docs/decisions/compiled-documents.md).
"""

from sqlalchemy import BigInteger, Double, Text, case, cast, func, literal_column

from trninv.database.sql_constructs import Concat
from trninv.inventory.schema.thing import DIVISORS, Sql, ValueFormat

NULL = literal_column("'null'", Text)
"""JSON's null, as a text in SQL."""


class JsonWriter:
    """Writes JSON expressions in one SQL dialect, sqlite or postgresql."""

    def __init__(self, dialect: str) -> None:
        self._is_sqlite = dialect == "sqlite"

    def value(self, value_format: ValueFormat, sql: Sql, kind: str = "", *, nullable: bool = False) -> Sql:
        """Write a value as JSON according to its format; an id is prefixed with its kind."""
        json_text: Sql
        match value_format:
            case ValueFormat.ID:
                return Concat([f'"{kind}:', sql, '"'])
            case ValueFormat.ADDRESS | ValueFormat.IDENTIFIER | ValueFormat.BIGINT | ValueFormat.TIME | ValueFormat.KEY:
                json_text = Concat(['"', sql, '"'])
            case ValueFormat.ENUM:
                json_text = Concat(['"', func.upper(sql), '"'])
            case ValueFormat.INTS:
                json_text = Concat(["[", func.replace(sql, " ", ","), "]"])
            case ValueFormat.TEXT | ValueFormat.PLACE:
                json_text = self.quote(sql)
            case ValueFormat.BOOLEAN:
                json_text = case((sql, literal_column("'true'", Text)), else_=literal_column("'false'", Text))
            case ValueFormat.MILLIONTHS | ValueFormat.THOUSANDTHS:
                json_text = self.decimal(sql, DIVISORS[value_format])
            case _:
                json_text = Concat([sql])
        return case((sql.is_(None), NULL), else_=json_text) if nullable else json_text

    def quote(self, sql: Sql) -> Sql:
        """Write a text as a JSON string."""
        if self._is_sqlite:
            return func.json_quote(sql)
        return cast(func.to_json(cast(sql, Text)), Text)

    def decimal(self, sql: Sql, divisor: int) -> Sql:
        """Write an integer divided by a divisor, as Python prints a float."""
        if self._is_sqlite:
            return Concat([sql / literal_column(f"{divisor}.0")])
        whole, divisor_sql = cast(sql, BigInteger), literal_column(str(divisor), BigInteger)
        exact = cast(whole, Double) / literal_column(f"{divisor}.0::double precision", Double)
        zero = literal_column("0", BigInteger)
        return case(
            (whole % divisor_sql == zero, cast(whole // divisor_sql, Text) + Concat([".0"])), else_=cast(exact, Text)
        )

    def collect(self, sql: Sql) -> Sql:
        """Aggregate the items of all rows, separated by commas."""
        comma = Concat([","])
        joined = func.group_concat(sql, comma) if self._is_sqlite else func.string_agg(sql, comma)
        return func.coalesce(joined, Concat([""]))

    def collated(self, sql: Sql) -> Sql:
        """Collate a text by code points, so that both databases sort it the same."""
        return sql if self._is_sqlite else sql.collate("C")
