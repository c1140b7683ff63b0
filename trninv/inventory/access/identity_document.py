"""Verify EC2 instance identity documents: what AWS signs about an instance, and the instance can prove with it.

The document is a JSON object in a PKCS7 (CMS) message, which an instance reads from its metadata service at
/latest/dynamic/instance-identity/rsa2048. The message is BER with indefinite lengths and has no certificate, so
asn1crypto parses it, and the certificates of AWS's documentation are configured; `cryptography` checks the signature.
"""

import base64
import binascii
import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from trninv.errors import ForbiddenError, UnauthenticatedError, UsageError, how_to_install

MAX_LENGTH: Final = 16_384
"""Maximum length of a message, in characters; AWS's have about 1,500."""
_DIGESTS: Final = ("sha256", "sha384", "sha512")
"""Accepted digests; the endpoint /pkcs7 still signs with SHA-1 and DSA."""
_SIGNATURES: Final = ("rsassa_pkcs1v15", "sha256_rsa", "sha384_rsa", "sha512_rsa")


@dataclass(frozen=True, slots=True)
class IdentityDocument:
    """A verified document.

    Attributes
    ----------
    pending_time
        When the instance was started; a document that is read after a later start has a later time.
    """

    instance: str
    account: str
    region: str
    pending_time: datetime


class IdentityDocumentVerifier:
    """Verifies documents of some accounts, signed by one of the certificates in a PEM file.

    Raises
    ------
    UsageError
        The file has no certificate with an RSA key, or the extra is not installed.
    """

    def __init__(self, certificate_file: Path, accounts: Collection[str]) -> None:
        try:
            import asn1crypto.cms  # noqa: PLC0415 # an extra
            from cryptography import x509  # noqa: PLC0415
            from cryptography.hazmat.primitives.asymmetric import rsa  # noqa: PLC0415
        except ImportError:
            raise UsageError(f"TRNINV_ENROLL_CERTIFICATES needs cryptography: {how_to_install('enroll')}") from None
        try:
            certificates = x509.load_pem_x509_certificates(certificate_file.read_bytes())
        except (OSError, ValueError):
            certificates = []
        self._certificates = [item for item in certificates if isinstance(item.public_key(), rsa.RSAPublicKey)]
        if not self._certificates:
            raise UsageError(f"TRNINV_ENROLL_CERTIFICATES: {certificate_file} has no PEM certificate with an RSA key")
        self._accounts, self._cms = frozenset(accounts), asn1crypto.cms

    def verify(self, text: str) -> IdentityDocument:
        """Return the content of a message, as the instance's metadata service prints it (base64).

        Raises
        ------
        UnauthenticatedError
            The message is malformed, or not signed by one of the certificates.
        ForbiddenError
            The instance belongs to another account.
        """
        if len(text) > MAX_LENGTH:
            raise UnauthenticatedError(f"the identity document is longer than {MAX_LENGTH:,} characters")
        try:
            content = self._verified_content(
                base64.b64decode(re.sub(r"-----[A-Z0-9 ]+-----|\s", "", text), validate=True)
            )
            document = _parse(json.loads(content))
        except (binascii.Error, ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
            raise UnauthenticatedError(
                "this is not an EC2 instance identity document; send what the instance reads from "
                "/latest/dynamic/instance-identity/rsa2048"
            ) from None
        if document.account not in self._accounts:
            raise ForbiddenError(
                f"{document.instance} is of account {document.account}, which may not enroll instances"
            )
        return document

    def _verified_content(self, message: bytes) -> bytes:
        from cryptography.exceptions import InvalidSignature  # noqa: PLC0415 # an extra
        from cryptography.hazmat.primitives import hashes  # noqa: PLC0415
        from cryptography.hazmat.primitives.asymmetric import padding  # noqa: PLC0415

        info = self._cms.ContentInfo.load(message, strict=True)
        signed_data = info["content"]
        content = signed_data["encap_content_info"]["content"].native
        (signer,) = signed_data["signer_infos"]
        digest_name = signer["digest_algorithm"]["algorithm"].native
        if (
            info["content_type"].native != "signed_data"
            or not isinstance(content, bytes)
            or digest_name not in _DIGESTS
            or signer["signature_algorithm"]["algorithm"].native not in _SIGNATURES
        ):
            raise ValueError("another kind of message")
        algorithm = getattr(hashes, digest_name.upper())()
        signed = content
        if len(signer["signed_attrs"]):
            attributes = {item["type"].native: item["values"][0].native for item in signer["signed_attrs"]}
            digest = hashes.Hash(algorithm)
            digest.update(content)
            if attributes["content_type"] != "data" or attributes["message_digest"] != digest.finalize():
                raise UnauthenticatedError("the signature does not match the identity document")
            signed = signer["signed_attrs"].untag().dump(force=True)
        now, serial = datetime.now(UTC), signer["sid"].chosen["serial_number"].native
        for certificate in self._certificates:
            is_current = certificate.not_valid_before_utc <= now <= certificate.not_valid_after_utc
            if certificate.serial_number == serial and is_current:
                key: Any = certificate.public_key()
                try:
                    key.verify(signer["signature"].native, signed, padding.PKCS1v15(), algorithm)
                except InvalidSignature:
                    continue
                return content
        raise UnauthenticatedError("the identity document is not signed by a certificate in TRNINV_ENROLL_CERTIFICATES")


def _parse(document: Mapping[str, Any]) -> IdentityDocument:
    """Return a document's fields; a field that is missing or malformed is a ValueError, TypeError or KeyError."""
    instance, account, region = (str(document[name]) for name in ("instanceId", "accountId", "region"))
    if not re.fullmatch(r"i-[0-9a-f]{8,17}", instance) or not re.fullmatch(r"[0-9]{12}", account):
        raise ValueError("the instance or the account is malformed")
    if not re.fullmatch(r"[a-z0-9-]{1,40}", region):
        raise ValueError("the region is malformed")
    pending_time = datetime.fromisoformat(document["pendingTime"])
    if pending_time.tzinfo is None:
        raise ValueError("the time has no zone")
    return IdentityDocument(instance, account, region, pending_time)
