"""Text is ordered and compared by code points on PostgreSQL, as on SQLite, whatever the locale of the database.

Revision ID: 0010
Revises: 0009
"""

from alembic import op

revision = "0010"
down_revision = "0009"

OURS = (
    "source fact chip_model server_model domain_model link_model cluster rack domain server tray node chip switch nic "
    "network_node core link state_event token _token_digest"
)
COLLATE = """
DO $$ DECLARE named text; changes text; BEGIN
    FOR named, changes IN
        SELECT quote_ident(relname), string_agg('ALTER COLUMN ' || quote_ident(attname)
            || ' TYPE ' || format_type(atttypid, atttypmod) || ' COLLATE "{to}"', ', ')
        FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid JOIN pg_collation ON pg_collation.oid = attcollation
        WHERE relkind = 'r' AND relnamespace = to_regnamespace(quote_ident(current_schema()))
            AND relname = ANY (string_to_array('{ours}', ' '))
            AND attnum > 0 AND NOT attisdropped AND collname <> '{to}'
        GROUP BY relname
    LOOP
        EXECUTE 'ALTER TABLE ' || named || ' ' || changes;
    END LOOP;
END $$
"""


def upgrade() -> None:
    _collate("C")


def downgrade() -> None:
    _collate("default")


def _collate(to: str) -> None:
    if op.get_context().dialect.name == "postgresql":
        op.execute(COLLATE.format(to=to, ours=OURS))
