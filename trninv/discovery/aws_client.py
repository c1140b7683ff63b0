"""Send read-only calls to AWS with boto3, page by page, and translate its errors.

EC2's responses are XML with some sixty members per instance, of which the reader of ``trninv import ec2`` reads ten.
The others are removed from botocore's model of the API, so that it never parses them: neither tags nor security groups
are ever in memory, and a large fleet takes a fraction of the time.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final

from trninv.discovery.provider import MAX_MACHINES, PullProgress
from trninv.discovery.target import Target
from trninv.errors import DiscoveryError, DiscoveryRefusedError, UsageError, how_to_install

_TIMEOUT_SECONDS: Final = 30
_MAX_ATTEMPTS: Final = 8
"""How often botocore sends a call that is throttled or fails, with growing pauses in between."""
_ROLE_PREFIX: Final = "arn:aws"
_REFUSALS: Final = frozenset(
    {
        *("AccessDenied", "AccessDeniedException", "UnauthorizedOperation"),
        *("InvalidAction", "UnknownOperationException", "UnsupportedOperation", "OptInRequired"),
    }
)
"""Error codes of calls that these credentials may not send, or that the region does not have."""
_EXPIRED: Final = frozenset(
    {"ExpiredToken", "ExpiredTokenException", "RequestExpired", "InvalidClientTokenId", "AuthFailure"}
)
_SHAPES: Final[Mapping[str, frozenset[str]]] = {
    "Instance": frozenset(
        {
            *("InstanceId", "InstanceType", "State", "PrivateDnsName", "Placement"),
            *("CapacityReservationId", "CapacityBlockId"),
        }
    ),
    "Placement": frozenset({"AvailabilityZone", "AvailabilityZoneId"}),
    "InstanceState": frozenset({"Name"}),
    "Reservation": frozenset({"Instances"}),
    "InstanceTopology": frozenset({"InstanceId", "InstanceType", "ZoneId", "CapacityBlockId", "NetworkNodes"}),
    "CapacityReservationTopology": frozenset({"CapacityReservationId", "CapacityBlockId"}),
    "CapacityBlock": frozenset({"CapacityBlockId", "CapacityReservationIds"}),
    "CapacityBlockStatus": frozenset({"CapacityBlockId", "InterconnectStatus"}),
}
"""The members that are parsed, by shape of botocore's model of EC2."""
_NODE_MEMBERS: Final = ("InstanceId", "InstanceType", "InstanceStatus", "UltraServerInfo", "PrivateDnsHostname")
"""The members kept of a HyperPod node; its others are times, which JSON does not have."""


class AwsClients:
    """The clients of a target's region and credentials; each is created when it is first used."""

    def __init__(self, target: Target) -> None:
        try:
            import boto3  # noqa: PLC0415 # an extra
            import botocore.session  # noqa: PLC0415
            from botocore.config import Config  # noqa: PLC0415
            from botocore.exceptions import BotoCoreError  # noqa: PLC0415
        except ImportError:
            raise UsageError(f"discover aws needs boto3: {how_to_install('aws')}") from None
        self._target, self._clients = target, dict[str, Any]()
        self._config = Config(
            retries={"mode": "adaptive", "total_max_attempts": _MAX_ATTEMPTS},
            connect_timeout=_TIMEOUT_SECONDS,
            read_timeout=_TIMEOUT_SECONDS,
            user_agent_extra="trninv",
        )
        is_role = target.account.startswith(_ROLE_PREFIX)
        try:
            core = botocore.session.Session(profile=None if is_role else target.account or None)
            core.register_component("data_loader", _model_loader())
            self._session = boto3.Session(botocore_session=core, region_name=target.place or None)
        except BotoCoreError as error:
            raise DiscoveryError(f"{target}: {error}") from None
        if is_role:
            self._assume_role(core)

    def _assume_role(self, core: Any) -> None:
        """Use the credentials of the target's role from now on."""
        import boto3  # noqa: PLC0415 # an extra

        call = self._call("sts", "AssumeRole", RoleArn=self._target.account, RoleSessionName="trninv-discover")
        keys = call["Credentials"]
        region = self._target.place or self._session.region_name
        core.set_credentials(keys["AccessKeyId"], keys["SecretAccessKey"], keys["SessionToken"])
        self._session, self._clients = boto3.Session(botocore_session=core, region_name=region), {}

    def account(self) -> str:
        """Return the id of the account that the credentials belong to, and the region."""
        account = self._call("sts", "GetCallerIdentity").get("Account", "")
        return f"account {account} in {self._session.region_name}"

    def pages(self, service: str, operation: str, key: str, progress: PullProgress, **parameters: Any) -> Iterator[Any]:
        """Yield the items of a list, over all pages.

        Raises
        ------
        DiscoveryRefusedError
            The credentials may not send this call, or the region does not have it.
        DiscoveryError
            The call failed, its pages do not end, or it has more than `MAX_MACHINES` items.

        """
        tokens, count, token = set[str](), 0, None
        while True:
            response = self._call(service, operation, **parameters, **({"NextToken": token} if token else {}))
            items = response.get(key) or []
            yield from (_plain(item) if service == "sagemaker" else item for item in items)
            count, token = count + len(items), response.get("NextToken")
            progress(operation, count)
            if not token:
                return
            if token in tokens or count > MAX_MACHINES:
                limit = "its pages repeat" if token in tokens else f"more than {MAX_MACHINES:,} items"
                raise DiscoveryError(f"{self._target}: {service}:{operation}: {limit}; nothing was imported")
            tokens.add(token)

    def _call(self, service: str, operation: str, **parameters: Any) -> Mapping[str, Any]:
        """Send one call.

        Raises
        ------
        DiscoveryRefusedError, DiscoveryError
            As in `pages`.

        """
        from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415 # an extra
        from botocore.parsers import ResponseParserError  # noqa: PLC0415

        name = f"{self._target}: {service}:{operation}"
        try:
            if service not in self._clients:
                self._clients[service] = self._session.client(service, config=self._config)
            client = self._clients[service]
            response: Mapping[str, Any] = getattr(client, _method_name(operation))(**parameters)
        except ClientError as error:
            details = error.response.get("Error", {})
            code, message = details.get("Code", ""), details.get("Message", "")
            if code in _EXPIRED:
                raise DiscoveryError(
                    f"{name}: the credentials have expired or are invalid ({code}); renew them"
                ) from None
            error_class = DiscoveryRefusedError if code in _REFUSALS else DiscoveryError
            raise error_class(f"{name}: {code}: {message}"[:500]) from None
        except (BotoCoreError, ResponseParserError, ValueError, TypeError, KeyError) as error:
            # botocore raises the last three for values of a wrong type in a response
            raise DiscoveryError(f"{name}: {error}"[:500]) from None
        return response


def _plain(node: Mapping[str, Any]) -> dict[str, Any]:
    return {name: node[name] for name in _NODE_MEMBERS if name in node}


def _method_name(operation: str) -> str:
    from botocore import xform_name  # noqa: PLC0415 # an extra

    return str(xform_name(operation))


@cache
def _model_loader() -> Any:
    """Return botocore's loader of models, with a model of EC2 without the members that no reader reads."""
    import botocore.session  # noqa: PLC0415 # an extra

    loader = botocore.session.Session().get_component("data_loader")
    # the loader caches the model, and clients are made from the cached one
    shapes = loader.load_service_model("ec2", "service-2")["shapes"]
    for shape, members in _SHAPES.items():
        if shape in shapes:
            for name in shapes[shape]["members"].keys() - members:
                del shapes[shape]["members"][name]
    return loader
