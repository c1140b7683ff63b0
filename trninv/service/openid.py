"""Verify OpenID Connect tokens (JWT) that people send as bearer tokens."""

from collections.abc import Mapping
from typing import Any, Final

from trninv.errors import UnauthenticatedError, UsageError, how_to_install
from trninv.inventory.access.bearer_tokens import Principal
from trninv.service.json_web_keys import JsonWebKeys
from trninv.service.people import find_person
from trninv.settings import Settings

MAX_TOKEN: Final = 16_384
"""Maximum length of a token, in characters."""
LEEWAY_SECONDS: Final = 30
"""Tolerance for clocks that differ, in `exp`, `nbf` and `iat`."""


class OpenIdVerifier:
    """Verifies tokens of one issuer."""

    def __init__(self, settings: Settings, keys: JsonWebKeys) -> None:
        try:
            import jwt  # noqa: PLC0415 # an extra
        except ImportError:
            raise UsageError(f"TRNINV_OIDC_ISSUER needs PyJWT: {how_to_install('oidc')}") from None
        self._settings, self._keys, self._jwt = settings, keys, jwt
        self._reasons: Mapping[type[Exception], str] = {
            jwt.ExpiredSignatureError: "it has expired",
            jwt.ImmatureSignatureError: "it is not valid yet",
            jwt.InvalidAudienceError: "it is for another audience",
            jwt.InvalidIssuerError: "it comes from another issuer",
            jwt.MissingRequiredClaimError: "it lacks one of exp, iss and aud",
            jwt.InvalidAlgorithmError: "its algorithm does not fit the issuer's key",
            jwt.InvalidSignatureError: "its signature is wrong",
        }

    async def find_person(self, token: str) -> Principal:
        """Return the person whom a valid token names.

        Raises
        ------
        UnauthenticatedError
            The token is malformed, expired, for somebody else or not signed by the issuer.
        ForbiddenError
            None of the person's groups gives a scope.

        """
        claims = await self._verify(token)
        name = claims.get(self._settings.oidc_name)
        if self._settings.oidc_name == "email" and claims.get("email_verified", True) is not True:
            raise UnauthenticatedError("the OpenID token is not valid: its e-mail address is not verified")
        groups = claims.get(self._settings.oidc_groups)
        members = [groups] if isinstance(groups, str) else groups if isinstance(groups, list) else []
        return find_person(name, [group for group in members if isinstance(group, str)], self._settings.group_scopes)

    async def _verify(self, token: str) -> Mapping[str, Any]:
        if len(token) > MAX_TOKEN:
            raise UnauthenticatedError(f"the OpenID token is longer than {MAX_TOKEN:,} characters")
        try:
            key_id = self._jwt.get_unverified_header(token).get("kid")
            key = await self._keys.find(key_id)
            claims: Mapping[str, Any] = self._jwt.decode(
                token,
                key.key,
                algorithms=key.algorithms,
                audience=self._settings.oidc_audience,
                issuer=self._settings.oidc_issuer,
                leeway=LEEWAY_SECONDS,
                options={"require": ["exp", "iss", "aud"]},
            )
        except (self._jwt.PyJWTError, ValueError, TypeError, RecursionError) as error:
            reasons = (text for kind, text in self._reasons.items() if isinstance(error, kind))
            raise UnauthenticatedError(
                f"the OpenID token is not valid: {next(reasons, 'it is malformed')}; sign in again"
            ) from None
        return claims
