"""Complete addresses in the shell and print the script that enables completion."""

from typing import Any, ClassVar

import click
from click.shell_completion import BashComplete, CompletionItem, get_completion_class

from trninv.errors import TrninvError
from trninv.settings import Settings

_BASH_TEMPLATE = r"""%(complete_func)s() {
    local IFS=$' \t\n' words=() rest=$COMP_LINE word last=${COMP_WORDS[COMP_CWORD]} index type value
    # bash breaks words at : = and @, which URLs and host names contain: join words that have no space between them
    for ((index = 0; index <= COMP_CWORD; index++)); do
        word=${COMP_WORDS[index]}
        if [[ $index == 0 || $rest == [[:space:]]* ]]; then
            words+=("$word")
        else
            words[${#words[@]} - 1]+=$word
        fi
        rest=${rest#"${rest%%%%[![:space:]]*}"}
        rest=${rest#"$word"}
    done
    local whole=${words[${#words[@]} - 1]}
    # bash replaces what follows the last of these characters, and an @ itself
    [[ $last == [:=]* ]] && last=
    [[ $last != @ && $whole == *@"$last" ]] && last=@$last
    local before=${whole%%"$last"}
    COMPREPLY=()
    while IFS=',' read -r type value; do
        case $type in
            dir) compopt -o dirnames ;;
            file) compopt -o default ;;
            plain) COMPREPLY+=("${value#"$before"}") ;;
        esac
    done < <(IFS=$'\n'; COMP_WORDS="${words[*]}" COMP_CWORD=$((${#words[@]} - 1)) %(complete_var)s=bash_complete "$1")
}

complete -o nosort -F %(complete_func)s %(prog_name)s
"""


class _BashCompletion(BashComplete):
    source_template: ClassVar[str] = _BASH_TEMPLATE


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print a completion script for your shell.

    It completes commands, options and addresses, level by level.

    \b
    source <(trninv completion bash)
    trninv completion zsh > ~/.zfunc/_trninv
    trninv completion fish > ~/.config/fish/completions/trninv.fish
    """
    completion_class = _BashCompletion if shell == "bash" else get_completion_class(shell)
    if completion_class is None:
        raise click.UsageError(f"no completion for {shell}; use bash, zsh or fish")
    click.echo(completion_class(context.find_root().command, {}, "trninv", "_TRNINV_COMPLETE").source())


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

        If the only match contains other places, it is also returned with a "/", so that the shell appends no space.
        """
        from trninv.database.engine import read_transaction, temporary_engine  # noqa: PLC0415
        from trninv.inventory.address.completion import complete_address  # noqa: PLC0415 # needed only for completion

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
