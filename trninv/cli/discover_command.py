"""Pull what AWS, Kubernetes and Slurm report (`discover`)."""

import os
import signal
import sys
from collections.abc import Iterable, Sequence
from contextlib import closing

import click
from sqlalchemy import Engine

from trninv.characters import escape_controls
from trninv.cli.messages import print_wrapped
from trninv.cli.output import format_option, print_table, print_value
from trninv.cli.progress_line import Progress
from trninv.database.engine import temporary_engine, write_transaction
from trninv.discovery.discovery_table import forget_target
from trninv.discovery.provider import ApiCall, all_providers, find_provider
from trninv.discovery.pull import PullResult, pull_target
from trninv.discovery.target import Target, parse_target
from trninv.errors import TrninvError, UsageError
from trninv.garbage_collection import limited_full_collections
from trninv.importers.collection_schedule import CollectionSchedule, parse_duration
from trninv.settings import Settings


@click.command()
@click.argument("targets", nargs=-1, metavar="TARGET…")
@click.option("--every", metavar="TIME", help="Repeat in this interval, such as 5m, until stopped.")
@click.option("--calls", is_flag=True, help="List the API calls that a pull may send; send none.")
@click.option("--forget", is_flag=True, help="Forget when the targets were pulled; what they reported stays.")
@click.option("--allow-empty", is_flag=True, help="Accept a target that lists no machine.")
@click.option("--dry-run", is_flag=True, help="Pull and check without storing anything.")
@format_option
@click.pass_obj
def discover(
    database: str,
    targets: tuple[str, ...],
    every: str | None,
    calls: bool,
    forget: bool,
    allow_empty: bool,
    dry_run: bool,
    style: str,
) -> None:
    """Pull what AWS, Kubernetes or Slurm report about machines, and import it.

    A target is a provider, with a region, context or URL after a colon, and a profile or the ARN of a role after @.
    Each pull imports the listings, infers bindings and detects drift in one transaction; if any call fails, nothing is
    stored. Only calls that read are sent, with your own credentials.

    \b
    trninv discover aws:us-east-2 aws:us-west-2@prod
    trninv discover slurm --every 5m
    trninv discover aws --calls
    """
    parsed = list(map(parse_target, targets))
    providers = [find_provider(target) for target in parsed] or list(all_providers().values())
    if calls:
        _print_calls(style, dict.fromkeys(call for provider in providers for call in provider.api_calls()))
        return
    if not parsed:
        raise UsageError(f"name a target, such as {', '.join(all_providers())} or aws:us-east-2")
    seconds = parse_duration(every, "--every") if every else None
    if seconds == 0:
        raise UsageError("--every 0s is no interval; write for example 5m")
    with temporary_engine(database) as engine, limited_full_collections():
        pulls = _Pulls(engine, parsed, seconds, allow_empty=allow_empty, commits=not dry_run)
        if forget:
            with write_transaction(engine, lock="discovery") as connection:
                for target in parsed:
                    forget_target(connection, str(target))
        elif seconds:
            with closing(pulls):
                _repeat(pulls, seconds)
        else:
            results = pulls.run()
            print_value(style, results, lambda: _print_results(results, dry_run=dry_run))
            if pulls.last_error:
                raise pulls.last_error


def check_targets(targets: Sequence[str], every: str) -> None:
    """Refuse targets or an interval of `trninv serve` that this command would refuse.

    Raises
    ------
    UsageError
        A setting is wrong.

    """
    for target in targets:
        find_provider(parse_target(target))
    if not parse_duration(every, "TRNINV_DISCOVER_EVERY"):
        raise UsageError("TRNINV_DISCOVER_EVERY=0s is no interval; write for example 5m")


def _print_calls(style: str, calls: Iterable[ApiCall]) -> None:
    listed = list(calls)
    cells = ((call.provider, call.name, "yes" if call.is_required else "no", call.purpose) for call in listed)
    print_value(style, listed, lambda: print_table(["provider", "call", "needed", "reads"], cells))


def _repeat(pulls: "_Pulls", seconds: int) -> None:
    """Pull in an interval until stopped, or until the process that started this one, such as trninv serve, is gone."""
    # the first process of a container ignores signals without a handler
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    parent = os.getppid()
    for _ in CollectionSchedule(seconds).wait():
        if os.getppid() != parent:
            return
        for result in pulls.run():
            print_wrapped(f"{result.target}: {result.summary()}")


class _Pulls:
    """Pulls targets one after another; the failure of one does not keep the others from being pulled."""

    def __init__(
        self, engine: Engine, targets: Sequence[Target], every: int | None, *, allow_empty: bool, commits: bool
    ) -> None:
        self._engine, self._targets, self._every = engine, targets, every
        self._allow_empty, self._commits = allow_empty, commits
        self._followers = {
            target: follow(target) for target in targets if every and (follow := find_provider(target).follow)
        }
        self.last_error: TrninvError | None = None

    def close(self) -> None:
        """End what runs between pulls."""
        for follower in self._followers.values():
            follower.close()

    def run(self) -> list[PullResult]:
        """Pull all targets, print the errors, and return the results of those that succeeded."""
        results, self.last_error = list[PullResult](), None
        newest = Settings.load().observations
        for target in self._targets:
            try:
                with Progress(str(target)) as progress:
                    results.append(
                        pull_target(
                            self._engine,
                            target,
                            every_seconds=self._every,
                            allow_empty=self._allow_empty,
                            newest=newest,
                            commits=self._commits,
                            progress=progress,
                            follower=self._followers.get(target),
                        )
                    )
            except TrninvError as error:
                for line in getattr(error, "errors", ()):
                    print_wrapped(escape_controls(line), err=True)
                if self._every or len(self._targets) > 1:
                    print_wrapped(f"trninv: {escape_controls(str(error))}", err=True)
                self.last_error = error
        return results


def _print_results(results: Sequence[PullResult], *, dry_run: bool) -> None:
    columns = [name for name in PullResult.__dataclass_fields__ if name != "notes"]
    if results:
        print_table(
            [name.replace("_", " ") for name in columns],
            ([getattr(result, name) for name in columns] for result in results),
        )
    for result in results:
        for note in result.notes:
            print_wrapped(escape_controls(f"{result.target}: {note}"))
    if dry_run:
        print_wrapped("dry run: nothing was stored")
