"""Complete addresses in the shell: ``trninv path rainier/d17/<TAB>``."""

from typing import Any

import click
from click.shell_completion import CompletionItem

from trninv.errors import TrninvError
from trninv.settings import Settings


class AddressType(click.ParamType[str]):
    """A parameter type for addresses that completes them in the shell; the command itself parses the text."""

    name = "address"

    def shell_complete(
        self,
        ctx: click.Context,
        param: click.Parameter,  # noqa: ARG002 # click's signature
        incomplete: str,
    ) -> list[CompletionItem]:
        """Return the addresses that begin with `incomplete`.

        A single one that contains others is also returned with a "/", so that the shell appends no space.
        """
        from trninv.inventory.completion import complete_address  # noqa: PLC0415 # needed only for completion
        from trninv.inventory.database import read_transaction, temporary_engine  # noqa: PLC0415

        try:
            url = ctx.find_root().params.get("database") or Settings.load().database_url
            with temporary_engine(url) as engine, read_transaction(engine) as connection:
                addresses = complete_address(connection, incomplete)
                if len(addresses) == 1 and complete_address(connection, f"{addresses[0]}/"):
                    addresses.append(f"{addresses[0]}/")
        except TrninvError:
            return []  # the command reports the error when it runs
        return [CompletionItem(address) for address in addresses]


ADDRESS: Any = AddressType()
"""The type of an argument or option that takes an address."""
