"""JSON as text that a statement itself writes: pieces of a template, joined by the database.

On SQLite a single printf is faster than its JSON functions and than rows made into JSON by Python; on PostgreSQL so is
plain concatenation (docs/decisions/compiled-documents.md).
"""

from sqlalchemy import BigInteger, Double, Text, case, cast, func, literal_column

from trninv.inventory.fields import DIVISORS, Form, Sql
from trninv.inventory.template import Template

NULL = literal_column("'null'", Text)


class Writer:
    """Writes JSON in the SQL of one dialect: sqlite or postgresql."""

    def __init__(self, dialect: str) -> None:
        self._lite = dialect == "sqlite"

    def value(self, form: Form, sql: Sql, kind: str = "", *, null: bool = False) -> Sql:
        """A value in its form, as JSON."""
        made: Sql
        match form:
            case Form.ID:
                return Template([f'"{kind}:', sql, '"'])
            case Form.ADDRESS | Form.WORD | Form.EXACT:
                made = Template(['"', sql, '"'])
            case Form.ENUM:
                made = Template(['"', func.upper(sql), '"'])
            case Form.TEXT:
                made = self.quote(sql)
            case Form.YES:
                made = case((sql, literal_column("'true'", Text)), else_=literal_column("'false'", Text))
            case Form.MILLIONTHS | Form.THOUSANDTHS:
                made = self.decimal(sql, DIVISORS[form])
            case _:
                made = Template([sql])
        return case((sql.is_(None), NULL), else_=made) if null else made

    def quote(self, sql: Sql) -> Sql:
        """Any text as a JSON string."""
        if self._lite:
            return func.json_quote(sql)
        return cast(func.to_json(cast(sql, Text)), Text)

    def decimal(self, sql: Sql, divisor: int) -> Sql:
        """A whole number over a divisor, as Python prints a float."""
        if self._lite:
            return Template([sql / literal_column(f"{divisor}.0")])
        whole, by = cast(sql, BigInteger), literal_column(str(divisor), BigInteger)
        exact = cast(whole, Double) / literal_column(f"{divisor}.0::double precision", Double)
        rest = literal_column("0", BigInteger)
        return case((whole % by == rest, cast(whole // by, Text) + Template([".0"])), else_=cast(exact, Text))

    def collect(self, sql: Sql) -> Sql:
        """The items of a list, with commas."""
        comma = Template([","])
        joined = func.group_concat(sql, comma) if self._lite else func.string_agg(sql, comma)
        return func.coalesce(joined, Template([""]))

    def ordered(self, sql: Sql) -> Sql:
        """Text that both databases order the same: by code points."""
        return sql if self._lite else sql.collate("C")
