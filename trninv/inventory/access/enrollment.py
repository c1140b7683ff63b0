"""Give an instance a token of its own in exchange for its identity document.

A document is no secret of its instance: whoever once read it can send it again, for as long as the instance lives. So a
document counts once. Another token needs proof that the sender is still the instance: its current token, or a document
of a later start of the instance. An expired token may be replaced with the document alone. If the newest token was
revoked, only an administrator can create another one.
"""

from datetime import UTC, datetime

from sqlalchemy import Connection

from trninv.errors import ConflictError
from trninv.inventory.access.bearer_tokens import IssuedToken, Principal, issue_tokens, newest_token
from trninv.inventory.access.identity_document import IdentityDocument
from trninv.units import format_timestamp

ENROLLED_SCOPE = "observe"
"""The scope of an enrolled instance's token."""


def enroll(
    connection: Connection, document: IdentityDocument, lifetime: str, current: Principal | None = None
) -> IssuedToken:
    """Create a token for the instance of a verified document.

    Parameters
    ----------
    lifetime
        The lifetime of the token in days or hours, such as "30d".
    current
        The principal of the valid token that the sender also has; None without one.

    Raises
    ------
    ConflictError
        The instance has a token, or had one that was revoked, and the sender does not prove to be the instance.
    """
    if current is None or (current.name, current.scope) != (document.instance, ENROLLED_SCOPE):
        _refuse_if_enrolled(connection, document)
    (issued,) = issue_tokens(
        connection,
        [document.instance],
        ENROLLED_SCOPE,
        lifetime,
        who=document.instance,
        action="enroll",
        detail=f"account {document.account}, region {document.region}",
    )
    return issued


def _refuse_if_enrolled(connection: Connection, document: IdentityDocument) -> None:
    token = newest_token(connection, document.instance)
    if token is None:
        return
    by_hand = f"an administrator can run trninv token create {document.instance} --scope {ENROLLED_SCOPE}"
    if token.revoked is not None:
        raise ConflictError(f"the token of {document.instance} was revoked: {by_hand}")
    has_expired = token.expires is not None and token.expires <= format_timestamp(datetime.now(UTC))
    if not has_expired and token.created >= format_timestamp(document.pending_time):
        raise ConflictError(
            f"{document.instance} has a token: send it in the header Authorization, or stop and start the instance; "
            f"{by_hand}"
        )
