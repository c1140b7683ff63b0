"""Check before a migration writes anything that PostgreSQL lets it finish: encoding, schemas and privileges.

Each refusal names the statement that an administrator runs.
"""

from collections.abc import Iterator
from typing import Final

from sqlalchemy import Connection, Row, text

from trninv.database.as_of import PAST_SCHEMA
from trninv.errors import DatabaseError

_MAX_SCHEMA_NAME: Final = 58
"""Maximum bytes of a schema's name: PostgreSQL cuts longer names of the schema of the past."""
_QUERY: Final = f"""
SELECT pg_encoding_to_char(encoding) AS encoding, quote_ident(current_user) AS login, quote_ident(datname) AS database,
    current_setting('search_path') AS search_path, quote_ident(current_schema()) AS schema,
    octet_length(current_schema()) AS name_length, quote_ident({PAST_SCHEMA}) AS past_schema,
    has_schema_privilege(current_schema(), 'CREATE') AS may_create_tables,
    CASE WHEN to_regnamespace(quote_ident({PAST_SCHEMA})) IS NULL THEN has_database_privilege(oid, 'CREATE')
         ELSE has_schema_privilege({PAST_SCHEMA}, 'CREATE') END AS may_create_views,
    (SELECT quote_ident(rolname) FROM pg_class JOIN pg_roles ON pg_roles.oid = relowner
     WHERE relname = 'alembic_version' AND relnamespace = to_regnamespace(quote_ident(current_schema()))
         AND NOT pg_has_role(relowner, 'USAGE')) AS other_owner
FROM pg_database WHERE datname = current_database()"""  # noqa: S608 # constants


def require_privileges(connection: Connection) -> None:
    """Refuse a PostgreSQL database in which the login can't create or change all that a migration does.

    Raises
    ------
    DatabaseError
        Something is missing; the message lists all of it.
    """
    if connection.dialect.name != "postgresql":
        return
    if problems := list(_problems(connection.execute(text(_QUERY)).one())):
        raise DatabaseError(f"nothing was changed, as the migration could not finish: {'; '.join(problems)}")


def _problems(row: Row[tuple[str, ...]]) -> Iterator[str]:
    if row.encoding != "UTF8":
        yield (
            f"the database has the encoding {row.encoding}, and trninv needs UTF8: "
            "CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0"
        )
    if row.schema is None:
        yield f"no schema of the search path {row.search_path} exists: CREATE SCHEMA … AUTHORIZATION {row.login}"
        return
    if row.name_length > _MAX_SCHEMA_NAME:
        yield f"the name of the schema {row.schema} has more than {_MAX_SCHEMA_NAME} bytes: ALTER SCHEMA … RENAME TO …"
    elif not row.may_create_views:
        yield (
            f"{row.login} can't create views in the schema {row.past_schema}: "
            f"CREATE SCHEMA IF NOT EXISTS {row.past_schema} AUTHORIZATION {row.login}"
        )
    if row.other_owner:
        yield f"the tables belong to {row.other_owner}: run trninv migrate as that role, or GRANT it to {row.login}"
    elif not row.may_create_tables:
        yield f"{row.login} can't create tables: GRANT CREATE, USAGE ON SCHEMA {row.schema} TO {row.login}"
