"""Grant PostgreSQL's roles what each needs, after a migration and with `trninv grant`.

A role of this module can't log in: administrators create logins in it. Roles belong to the server, so that all
installations on it share them, and each grants them its own tables. Whoever may not create roles gets the statements
for an administrator.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection, text
from sqlalchemy.exc import ProgrammingError

from trninv.database.as_of import PAST_SCHEMA
from trninv.database.migration_lock import lock_migrations
from trninv.database.tables import METADATA, PRIVATE_TABLES
from trninv.reports.views import READABLE, ROLE, VIEWS

_INSUFFICIENT_PRIVILEGE: Final = "42501"
"""PostgreSQL's error code for a missing permission."""
_FIRST_VERSION_WITH_SET: Final = (16,)
"""The first version of PostgreSQL in which membership alone does not allow SET ROLE."""


@dataclass(frozen=True, slots=True)
class GroupRole:
    """A role that others are members of, with the tables and views that it may read and change."""

    name: str
    readable: frozenset[str]
    changeable: frozenset[str] = frozenset()


READER: Final = GroupRole(ROLE, READABLE)
"""May read tables and views, but no token: for TRNINV_SQL_URL, reports and dumps."""
SERVICE: Final = GroupRole(
    "trninv_service", frozenset({*METADATA.tables, *VIEWS, "alembic_version"}), frozenset(METADATA.tables)
)
"""May change all rows, but no table, trigger or view: for `trninv serve` and everyday commands."""
COLLECTOR: Final = GroupRole(
    "trninv_collector",
    READABLE | {"alembic_version"},
    frozenset(name for name in METADATA.tables if name.startswith("observ")),
)
"""May store observations: for `trninv import` and programs of others. It may not lock the inventory to remove some."""
ROLES: Final = (READER, SERVICE, COLLECTOR)


def grant_statements() -> Iterator[str]:
    """Yield statements that grant each role that exists what it needs; only the owner of the tables can run them."""
    for role in ROLES:
        changes = f"GRANT INSERT, UPDATE, DELETE ON {_names(role.changeable)} TO {role.name};" * bool(role.changeable)
        private = PRIVATE_TABLES - role.readable
        revoked = f"REVOKE ALL ON {_names(private)} FROM {role.name};" * bool(private)
        yield f"""
DO $$ BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = '{role.name}') THEN
        EXECUTE format('GRANT USAGE ON SCHEMA %I TO {role.name}', current_schema());
        EXECUTE format('GRANT USAGE ON SCHEMA %I TO {role.name}', {PAST_SCHEMA});
        EXECUTE format('GRANT SELECT ON ALL TABLES IN SCHEMA %I TO {role.name}', {PAST_SCHEMA});
        {revoked}
        GRANT SELECT ON {_names(role.readable)} TO {role.name};
        {changes}
    END IF;
END $$"""  # constant names


def grant(connection: Connection, roles: tuple[GroupRole, ...] = ROLES) -> list[str]:
    """Create the roles that are missing, let the owner and the service read as the reader, and grant what each needs.

    Returns
    -------
    list of str
        The statements that this login may not run, for an administrator; afterward, `grant` has to run again.
    """
    lock_migrations(connection)
    refused = [statement for role in roles for statement in _run(connection, _create_statements(connection, role))]
    members = [f"{connection.scalar(text('SELECT quote_ident(current_user)'))}"]
    if _exists(connection, SERVICE.name):
        members.append(SERVICE.name)
    for member in members:
        if not (_exists(connection, ROLE) and _may_become_reader(connection, member)):
            refused += _run(connection, [f"GRANT {ROLE} TO {member}"])
    for statement in grant_statements():
        connection.execute(text(statement))
    return refused


def _create_statements(connection: Connection, role: GroupRole) -> list[str]:
    return [] if _exists(connection, role.name) else [f"CREATE ROLE {role.name} NOLOGIN"]


def _exists(connection: Connection, role: str) -> bool:
    return bool(connection.scalar(text("SELECT to_regrole(:role) IS NOT NULL"), {"role": role}))


def _may_become_reader(connection: Connection, member: str) -> bool:
    """Return whether a role, whose name is quoted, may SET ROLE to the reader."""
    has_set = (connection.dialect.server_version_info or ()) >= _FIRST_VERSION_WITH_SET
    query = text("SELECT pg_has_role(to_regrole(:member), :reader, :kind)")
    return bool(connection.scalar(query, {"member": member, "reader": ROLE, "kind": "SET" if has_set else "MEMBER"}))


def _run(connection: Connection, statements: list[str]) -> list[str]:
    """Run statements, and return those that this login may not run."""
    refused = []
    for statement in statements:
        try:
            with connection.begin_nested():
                connection.execute(text(statement))
        except ProgrammingError as error:
            if getattr(error.orig, "sqlstate", None) not in (_INSUFFICIENT_PRIVILEGE, "42704"):
                raise
            refused.append(f"{statement};")
    return refused


def _names(names: frozenset[str]) -> str:
    return ", ".join(sorted(names))
