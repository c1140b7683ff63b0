"""Addresses as the shell completes them: ``trninv path rainier/d17/<TAB>``."""

from typing import Any

import click
from click.shell_completion import CompletionItem

from trninv.errors import TrninvError
from trninv.settings import Settings


class AddressType(click.ParamType[str]):
    """An address, which the command itself reads; only the shell asks here how it may go on."""

    name = "address"

    def shell_complete(
        self,
        ctx: click.Context,
        param: click.Parameter,  # noqa: ARG002 # click's signature
        incomplete: str,
    ) -> list[CompletionItem]:
        """Addresses that begin so; a single one that contains others also with its /, so that no space follows."""
        from trninv.inventory.completion import complete_address  # noqa: PLC0415 # only the shell asks
        from trninv.inventory.database import read_transaction, temporary_engine  # noqa: PLC0415

        try:
            url = ctx.find_root().params.get("database") or Settings.load().database_url
            with temporary_engine(url) as engine, read_transaction(engine) as connection:
                addresses = complete_address(connection, incomplete)
                if len(addresses) == 1 and complete_address(connection, f"{addresses[0]}/"):
                    addresses.append(f"{addresses[0]}/")
        except TrninvError:
            return []  # the command, not the shell, says what is wrong
        return [CompletionItem(address) for address in addresses]


ADDRESS: Any = AddressType()
"""The type of an argument or option that takes an address."""
