"""Parse the targets of discovery, such as ``aws:us-east-2@prod``: a provider, a place and an account."""

import re
from dataclasses import dataclass
from typing import Final

from trninv.errors import UsageError

_TARGET: Final = re.compile(
    r"([a-z]{1,20})(?::([A-Za-z0-9/][A-Za-z0-9_.:/-]{0,199}))?(?:@([A-Za-z0-9_.:/+=@-]{1,200}))?"
)


@dataclass(frozen=True, slots=True)
class Target:
    """Something to pull from.

    Attributes
    ----------
    place
        A region of AWS, a context of a kubeconfig, the URL of slurmrestd, or the path of a topology.yaml; empty: the
        default.
    account
        A profile or the ARN of a role; empty: the default credentials.

    """

    provider: str
    place: str = ""
    account: str = ""

    def __str__(self) -> str:
        return self.provider + (f":{self.place}" if self.place else "") + (f"@{self.account}" if self.account else "")


def parse_target(text: str) -> Target:
    """Parse PROVIDER[:PLACE][@ACCOUNT].

    Raises
    ------
    UsageError
        The text has another form.

    """
    match = _TARGET.fullmatch(text)
    if match is None:
        raise UsageError(f"{text[:80]!r} is not a target; write for example aws:us-east-2, aws:us-east-2@prod or slurm")
    return Target(match[1], match[2] or "", match[3] or "")
