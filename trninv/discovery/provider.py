"""Declare providers: programs with an API from which trninv pulls listings of machines.

A provider's declaration names every API call that it may send. `trninv discover --calls`, the IAM policy and the
ClusterRole in deploy/ come from it.
"""

import pkgutil
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib import import_module
from typing import Annotated, Any, Final, Protocol, Self

import orjson

from trninv.discovery import providers
from trninv.discovery.target import Target
from trninv.errors import UsageError
from trninv.importers.json_value import MAX_NAME

MAX_MACHINES: Final = 200_000
"""The maximum number of entries of one listing; more are refused."""


@dataclass(frozen=True, slots=True)
class ApiCall:
    """A call that a provider may send; none of them changes anything."""

    provider: Annotated[str, "The provider, such as aws."]
    name: Annotated[str, "The call as permissions spell it, such as ec2:DescribeInstances."]
    purpose: Annotated[str, "What trninv reads from the answer."]
    is_required: Annotated[bool, "Whether a pull fails if the call is refused."] = True


@dataclass(frozen=True, slots=True)
class PackedJson:
    """A JSON document in a tenth of its bytes: the objects of a fleet repeat the same names thousands of times."""

    packed: bytes

    @classmethod
    def dump(cls, value: Any) -> Self:
        """Pack a value, with sorted keys; raise TypeError if JSON cannot represent it."""
        return cls(zlib.compress(orjson.dumps(value, option=orjson.OPT_SORT_KEYS), 1))

    def text(self) -> bytes:
        """Return the document."""
        return zlib.decompress(self.packed)

    def load(self) -> Any:
        """Return the value."""
        return orjson.loads(self.text())


@dataclass(frozen=True, slots=True)
class PulledEntry:
    """An entry of a listing: the name of its machine, and the document that the source's reader reads.

    The document may contain values of `PackedJson`.
    """

    key: str
    document: Mapping[str, Any]

    def line(self) -> bytes:
        """Return the document as a line of JSON that is the same whenever the content is the same."""
        options = orjson.OPT_SORT_KEYS | orjson.OPT_PASSTHROUGH_DATACLASS
        return orjson.dumps(self.document, _unpack, options) + b"\n"


def _unpack(value: Any) -> orjson.Fragment:
    """Return the JSON of a value that is packed."""
    if not isinstance(value, PackedJson):
        raise TypeError(f"{type(value)} is not JSON")
    return orjson.Fragment(value.text())


@dataclass(frozen=True, slots=True)
class PulledListing:
    """A listing that a provider pulled.

    Attributes
    ----------
    source
        The declared source that reads it, such as ec2.
    name
        Its name within the target, such as instances.
    empty_document
        The document to read if it has no entry.

    """

    source: str
    name: str
    entries: tuple[PulledEntry, ...]
    empty_document: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class PulledJobs:
    """What a scheduler reports about its jobs.

    Attributes
    ----------
    scheduler
        The declared reader of its listings.
    system
        The name of the system that owns the jobs.
    documents
        The documents that the reader reads.

    """

    scheduler: str
    system: str
    documents: tuple[PackedJson, ...]


@dataclass(frozen=True, slots=True)
class PulledListings:
    """What one pull returned.

    Attributes
    ----------
    identity
        The account or cluster that answered. It must stay the same, or the listings of one would end those of another.
    notes
        Optional calls that were refused, with the reason.
    jobs
        All jobs; None if the provider does not read them, or may not.

    """

    identity: str
    listings: tuple[PulledListing, ...]
    notes: tuple[str, ...] = ()
    jobs: PulledJobs | None = None


PullProgress = Callable[[str, int], object]
"""Called with the name of a listing and the number of its entries read so far."""


class Follower(Protocol):
    """What a provider keeps between the pulls of a target, such as watches."""

    def pull(self, progress: PullProgress) -> PulledListings:
        """Return the listings as they are now; raise TrninvError if a call fails."""

    def close(self) -> None:
        """End what runs between pulls."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Provider:
    """A provider of listings.

    Attributes
    ----------
    name
        Its name in targets, such as aws.
    place
        What a target names after the colon, in words.
    extra
        The extra of the Python package that it needs; empty: none.
    calls
        Every call that it may send, with the purpose; ``optional_calls`` may be refused.
    pull
        Reads a target's listings; raises TrninvError if a call fails.
    follow
        Opens a target that is pulled at intervals, if the provider keeps something between pulls.

    """

    name: str
    title: str
    place: str
    pull: Callable[[Target, PullProgress], PulledListings]
    calls: Mapping[str, str]
    optional_calls: Mapping[str, str]
    extra: str = ""
    follow: Callable[[Target], Follower] | None = None

    def api_calls(self) -> tuple[ApiCall, ...]:
        """Return the declaration of every call."""
        required = (ApiCall(self.name, call, purpose) for call, purpose in self.calls.items())
        optional = (ApiCall(self.name, call, purpose, False) for call, purpose in self.optional_calls.items())
        return (*required, *optional)


def join_names(names: Iterable[str], separator: str) -> str:
    """Return the name of a scheduler's block that has several names, or their digest if that is too long for a name."""
    joined = separator.join(names)
    return joined if len(joined) <= MAX_NAME else sha256(joined.encode(errors="replace")).hexdigest()


@cache
def all_providers() -> Mapping[str, Provider]:
    """Return all providers by name; the first call imports their modules, but not the packages that they need."""
    names = [module.name for module in pkgutil.iter_modules(providers.__path__)]
    declared = [import_module(f"{providers.__name__}.{name}").PROVIDER for name in names]
    return {provider.name: provider for provider in declared}


def find_provider(target: Target) -> Provider:
    """Return the provider of a target.

    Raises
    ------
    UsageError
        There is none of that name.

    """
    if target.provider not in all_providers():
        raise UsageError(f"{target}: no provider {target.provider}; write {', '.join(all_providers())}")
    return all_providers()[target.provider]
