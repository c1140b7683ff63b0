"""Declare tokens and their events, which only administrators list."""

from typing import Final

from trninv.database.tables import TABLES
from trninv.inventory.access.quota import reported_this_hour
from trninv.inventory.schema.enumerations import TOKEN_ACTION, TOKEN_SCOPE
from trninv.inventory.schema.thing import Field, Thing, ValueFormat, column_field, join_by_keys

_PRINCIPAL, _TOKEN, _EVENT = (TABLES[name] for name in ("principal", "token", "token_event"))

ACCESS_THINGS: Final = (
    Thing(
        name="token",
        description="A bearer token of the service, without its secret.",
        list_name="tokens",
        list_description="Tokens in the order of their creation. Scope: admin.",
        table=_TOKEN,
        joins=join_by_keys(_TOKEN, "principal"),
        fields=(
            column_field(_TOKEN.c.id, "Its number, by which one token of several can be revoked.", name="number"),
            column_field(_PRINCIPAL.c.name, "Name of its principal, which changes made with it record as author."),
            column_field(_TOKEN.c.scope, "What it allows.", enumeration=TOKEN_SCOPE),
            column_field(_TOKEN.c.created, "When it was created (UTC).", ValueFormat.TIME),
            column_field(_TOKEN.c.issued_by, "Who created it; null if an older version of trninv did."),
            column_field(_TOKEN.c.expires, "When it expires (UTC); null: never.", ValueFormat.TIME),
            column_field(
                _TOKEN.c.last_used, "When it was last used (UTC), to the hour; null: never.", ValueFormat.TIME
            ),
            column_field(_TOKEN.c.revoked, "When it was revoked (UTC).", ValueFormat.TIME),
            column_field(_TOKEN.c.revoked_by, "Who revoked it."),
            *(
                Field(
                    f"{unit}_this_hour",
                    ValueFormat.BIGINT,
                    reported_this_hour(unit),
                    f"{unit.capitalize()} that its principal reported since the hour began (UTC); null if it may not.",
                    nullable=True,
                )
                for unit in ("rows", "bytes")
            ),
        ),
        permission="admin",
    ),
    Thing(
        name="token_event",
        description="Something that happened to a token: who created, rotated or revoked it, or its first use.",
        list_name="tokenEvents",
        list_description="What happened to tokens, oldest first. Scope: admin.",
        table=_EVENT,
        joins=join_by_keys(_EVENT, "token", "principal"),
        fields=(
            column_field(_EVENT.c.at, "When it happened (UTC).", ValueFormat.TIME),
            column_field(_EVENT.c.who, "Who did it."),
            column_field(_EVENT.c.action, "What happened.", enumeration=TOKEN_ACTION),
            column_field(_PRINCIPAL.c.name, "Name of the token's principal."),
            column_field(_TOKEN.c.id, "Number of the token.", name="token"),
            column_field(_TOKEN.c.scope, "What the token allows.", enumeration=TOKEN_SCOPE),
            column_field(_EVENT.c.detail, "What else is known, such as the account of an enrolled instance."),
        ),
        permission="admin",
    ),
)
