"""Serve /enroll, where an EC2 instance exchanges its identity document for a token of its own."""

from functools import partial

from sqlalchemy import Engine
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from trninv.database.engine import write_transaction
from trninv.errors import NotFoundError, UnauthenticatedError
from trninv.inventory.access.bearer_tokens import IssuedToken, Principal
from trninv.inventory.access.enrollment import ENROLLED_SCOPE, enroll
from trninv.inventory.access.identity_document import IdentityDocument
from trninv.service.api_route import TEXT, ApiRoute, RouteDeclaration, json_object
from trninv.service.authentication import authenticate
from trninv.service.services import get_services


async def enroll_instance(request: Request) -> Response:
    """Return a token for the instance whose identity document is the body.

    A request that also has the instance's current token gets another one, so that it can rotate its token.
    """
    services = get_services(request)
    if services.enrollment is None:
        raise NotFoundError("instances can't enroll here; set TRNINV_ENROLL_CERTIFICATES to let them")
    current = await authenticate(request, ENROLLED_SCOPE) if "authorization" in request.headers else None
    try:
        text = (await request.body()).decode("ascii")
    except UnicodeDecodeError:
        raise UnauthenticatedError("the body is not an identity document; send base64 text") from None
    document = await services.read(services.enrollment.verify, text)
    request.state.who = document.instance
    lifetime = services.settings.enroll_lifetime
    run = partial(_run_enroll, services.fleet.engine, document, lifetime, current)
    issued = await services.api.threads.writing.run(run, to_end=True)
    content = {"name": issued.name, "token": issued.token, "scope": ENROLLED_SCOPE, "lifetime": lifetime}
    return JSONResponse(content, 201, {"Cache-Control": "no-store"})


def _run_enroll(engine: Engine, document: IdentityDocument, lifetime: str, current: Principal | None) -> IssuedToken:
    with write_transaction(engine) as connection:
        return enroll(connection, document, lifetime, current)


_ISSUED = json_object(dict.fromkeys(("name", "token", "scope", "lifetime"), TEXT))
ROUTES = [
    ApiRoute(
        "/enroll",
        enroll_instance,
        RouteDeclaration(
            None,
            {"application/json": _ISSUED},
            takes_any_parameter=True,
            body={"type": "string", "description": "The instance identity document, signed and in base64"},
            body_media_type="text/plain",
            example="MIAGCSqGSIb3DQEHAqCAMIACAQExDTALBglghkgBZQMEAgEwgAYJKoZIhvcNAQcBoIAk",
            status=201,
            other_statuses={
                401: "The document is not signed by AWS, or is not of an instance that may enroll",
                409: "The token was revoked by hand, or is still valid: send it too",
            },
        ),
        method="POST",
    )
]
