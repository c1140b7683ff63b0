"""Declare what a source of observations is: a program, the reader of its output, and how far to trust it."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from trninv.importers.input_file import InputFile
from trninv.importers.records import ObservedRecord


@dataclass(frozen=True, kw_only=True, slots=True)
class SourceDeclaration:
    """A program that reports machines, how to read its output, and how far to trust it.

    Attributes
    ----------
    name
        Its name in ``trninv import`` and in the database, such as neuron-ls.
    title
        Its name in texts for people, such as HyperPod, if that differs from its name.
    commands, content
        The commands whose output is read, and what the output says about an instance, in Markdown.
    read
        Yields the records of a file.
    expected
        Fields of a server and its chips that it should report, with their names in its output.
    is_manager
        Whether it reports many machines; otherwise it runs on a machine and reports only that machine. A manager's host
        names win over a machine's own, its counts of chips include all chips, and its listings are never deleted.
    host_name_rank
        Priority of a manager's host names: if managers name a host differently, the lowest rank wins.
    is_scheduler
        Whether it places jobs, and so must know unhealthy servers and cordons.
    lists_every_chip
        Whether it normally lists all chips of a machine, so that a list that it marks as partial is a finding of drift.
    failure_states
        States that it reports because a check of the server failed, and not because a person set them.
    inexact_facts
        Kinds of values, such as instance_type, for which its reports are used only if no other source has one, and are
        not compared with those of other sources.
    objects
        If several kinds of objects report instances: a field that records of a kind have, and none of a later kind in
        this order, with the name of the kind.

    """

    name: str
    title: str = ""
    commands: str
    content: str
    read: Callable[[InputFile], Iterator[ObservedRecord]]
    expected: Mapping[str, str]
    is_manager: bool = False
    host_name_rank: int = 0
    is_scheduler: bool = False
    lists_every_chip: bool = False
    failure_states: frozenset[str] = frozenset()
    inexact_facts: frozenset[str] = frozenset()
    objects: tuple[tuple[str, str], ...] = ()

    def is_exact(self, fact: str) -> bool:
        """Return whether its values for a fact can be compared with those of other sources."""
        return fact not in self.inexact_facts

    def object_of(self, record: object) -> str:
        """Return the name of the object that a record is of; an empty text if it is unknown."""
        return next((name for field, name in self.objects if getattr(record, field)), "")
