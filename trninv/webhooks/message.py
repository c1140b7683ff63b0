"""Build, sign and format messages, as the Standard Webhooks specification describes (standardwebhooks.com)."""

import base64
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

import orjson

from trninv.characters import escape_controls
from trninv.webhooks.receiver import BodyFormat

_MAX_SLACK_TEXT: Final = 3_000
_SLACK_ESCAPES: Final = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


@dataclass(frozen=True, slots=True)
class Message:
    """What a receiver gets.

    Attributes
    ----------
    id
        The same whenever the message is sent again.
    type
        What happened: event.recorded, incident.opened, incident.resolved, check.failed, check.recovered or test.
    timestamp
        When it happened, UTC.
    text
        What happened, in one line.

    """

    id: str
    type: str
    timestamp: str
    text: str
    data: Mapping[str, Any]

    @classmethod
    def create(cls, kind: str, key: Sequence[object], timestamp: str, text: str, data: Mapping[str, Any]) -> "Message":
        """Return a message whose id is computed from its kind and what identifies it among those."""
        digest = sha256(orjson.dumps([kind, *map(str, key)])).hexdigest()
        return cls(f"msg_{digest[:32]}", kind, timestamp, text, data)

    def body(self, body_format: BodyFormat) -> bytes:
        """Return the body in a format."""
        if body_format is BodyFormat.SLACK:
            text = escape_controls(self.text)[:_MAX_SLACK_TEXT]
            return orjson.dumps({"text": "".join(_SLACK_ESCAPES.get(character, character) for character in text)})
        fields = {"id": self.id, "type": self.type, "timestamp": self.timestamp, "text": self.text, "data": self.data}
        return orjson.dumps(fields)


def sign(secret: bytes, message_id: str, timestamp: int, body: bytes) -> str:
    """Return the header webhook-signature: HMAC-SHA256 of id, seconds since 1970 and body."""
    signed = b"%b.%d.%b" % (message_id.encode(), timestamp, body)
    return f"v1,{base64.b64encode(hmac.digest(secret, signed, 'sha256')).decode()}"
