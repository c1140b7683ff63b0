"""completion: what a shell reads to complete commands, options and addresses."""

import click
from click.shell_completion import get_completion_class


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print what a shell reads to complete commands, options, and addresses level by level.

    \b
    source <(trninv completion bash)
    trninv completion zsh > ~/.zfunc/_trninv
    trninv completion fish > ~/.config/fish/completions/trninv.fish
    """
    found = get_completion_class(shell)
    if found is None:
        raise click.UsageError(f"click completes nothing in {shell}")
    click.echo(found(context.find_root().command, {}, "trninv", "_TRNINV_COMPLETE").source())
