"""What a job needs: so many chips, as a box, as servers or as whole domains; and the sets of a model that would do."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from math import prod
from typing import Final

from trninv.catalog.facts import catalog
from trninv.errors import LimitError, WrongLevelError
from trninv.jobs.model import AnyOf, Legal, Model
from trninv.solvers.blocks import Shape
from trninv.units import Capacity, counted

_SHAPE: Final = re.compile(r"[1-9]\d{0,2}(?:[xX×][1-9]\d{0,2}){0,2}", re.ASCII)
_ONE: Final = "ask for one of SHAPE, --chips, --memory, --servers and --domains"


@dataclass(frozen=True, slots=True)
class Asked:
    """What was asked for, in the terms of a model.

    Attributes
    ----------
    domains
        Whole domains, of a job that needs more than one; else 0.
    sets
        Sets of chips of a domain that would do.
    shapes
        Their shapes, where they are boxes.

    """

    words: str
    chips: int
    domains: int = 0
    sets: tuple[int, ...] | AnyOf = ()
    shapes: tuple[Shape, ...] = ()


def refuse_swapped(of: str | None, shape: str | None, right: str) -> None:
    """Say how it is written rightly where a scope and a shape are given as each other.

    Raises
    ------
    LimitError

    """
    if of and shape and _SHAPE.fullmatch(of.strip()) and not _SHAPE.fullmatch(shape):
        raise LimitError(f"{of.strip()} is a shape, and {shape[:200]} is none: write {right}")


def shape_of(text: str, model: Model, *, as_written: bool) -> tuple[Shape, ...]:
    """The boxes of a torus that a shape stands for, written rows × columns × servers.

    Raises
    ------
    LimitError
        It is none, or does not go into a domain.
    WrongLevelError
        The chips of the model make up no torus.

    """
    if text.isdecimal():
        raise LimitError(
            f"shape {text[:40]}: for so many chips say --chips {text[:40]}; a box in a row is {text[:40]}x1"
        )
    if not _SHAPE.fullmatch(text):
        raise LimitError(f"shape {text[:40]!r}: write it as 2x2x4, rows, columns and servers")
    if model.torus is None:
        why = "is switched: a set of its chips has no shape" if model.chips > 1 else "has one chip, which has no shape"
        raise WrongLevelError(f"{model.slug} {why}, so ask for --chips or --servers")
    spans = tuple(map(int, re.split("[xX×]", text)))
    sides = model.torus.sides
    found = model.torus.turned(spans)
    if as_written:
        full = spans + (1,) * (len(sides) - len(spans))
        turned = (full[-1], *full[:-1]) if len(sides) > 2 else full  # noqa: PLR2004 # servers come first
        found = tuple(each for each in found if each == turned)
    if not found:
        whole = "x".join(map(str, (*sides[1:], sides[0]) if len(sides) > 2 else sides))  # noqa: PLR2004 # as above
        raise LimitError(f"shape {text}: no domain of {model.slug} has it, the largest is {whole}")
    return found


def asked(
    model: Model,
    legal: Legal,
    *,
    shape: str | None,
    chips: int | None,
    memory: Capacity | None,
    servers: int | None,
    domains: int | None,
    any_block: bool | None,
    as_written: bool,
) -> Asked:
    """Read what a job needs; ``any_block`` is None where boxes are asked for by their shapes only.

    Raises
    ------
    LimitError
        Not exactly one thing is asked for, or more than fits no whole number of domains.
    IllegalSizeError
        No scheduler grants so many chips.

    """
    if sum(each is not None for each in (shape, chips, memory, servers, domains)) != 1:
        raise LimitError(_ONE)
    if shape is not None:
        shapes = shape_of(shape, model, as_written=as_written)
        return Asked(shape, prod(shapes[0]), sets=_blocks(model, shapes), shapes=shapes)
    if domains is not None or (servers or 0) > model.servers:
        count, rest = divmod(domains * model.servers if domains is not None else servers or 0, model.servers)
        return _whole(model, count, rest, servers or 0, "server", model.servers)
    if servers is not None:
        return _some(model, legal, servers, "server", any_block=any_block)
    if memory is not None:
        chips = _enough(model, legal, memory, any_block=any_block)
    if (chips or 0) > model.chips:
        return _whole(model, *divmod(chips or 0, model.chips), chips or 0, "chip", model.chips)
    return _some(model, legal, chips or 0, "chip", any_block=any_block)


def _whole(model: Model, domains: int, rest: int, said: int, what: str, each: int) -> Asked:
    if rest:
        near = " or ".join(f"{count * each:,}" for count in (domains, domains + 1))
        raise LimitError(f"{counted(said, what)} are no whole domains of {each}: ask for {near}")
    words = counted(domains, "whole domain")
    if domains == 1:
        return Asked(words, model.chips, sets=(model.full,))
    return Asked(words, domains * model.chips, domains)


def _some(model: Model, legal: Legal, said: int, what: str, *, any_block: bool | None) -> Asked:
    in_servers, words = what == "server", counted(said, what)
    chips = said * model.per_server if in_servers else said
    if any_block and model.torus:
        shapes = tuple(shape for shape in model.torus.shapes if prod(shape) == chips)
        if not shapes:
            raise LimitError(f"{chips} chips make up no box on {model.slug}: ask for one with sides that fit")
        sets = _blocks(model, shapes)
        return Asked(words, chips, sets=_of_servers(model, sets) if in_servers else sets, shapes=shapes)
    legal.check(model, chips, "a shape" if any_block is None else "--any-block", in_servers=in_servers)
    return Asked(words, chips, sets=legal.any_of.get(chips) or legal.sets[chips])


def _enough(model: Model, legal: Legal, memory: Capacity, *, any_block: bool | None) -> int:
    """The least number of chips that has so much memory and can be held."""
    each = catalog().value(model.of.server.chip.slug, "device_memory")
    least = -(-int(memory) // each)
    if least > model.chips:
        return -(-least // model.chips) * model.chips
    sizes = {prod(shape) for shape in model.torus.shapes} if any_block and model.torus else legal.sizes
    return min(size for size in sizes if size >= least)


def _of_servers(model: Model, sets: Sequence[int]) -> tuple[int, ...]:
    """Those that take all of each server that they take a chip of."""
    return tuple(each for each in sets if all(each & whole in {0, whole} for whole in model.whole_server))


def _blocks(model: Model, shapes: Sequence[Shape]) -> tuple[int, ...]:
    torus = model.torus
    return (
        tuple(chain.from_iterable((block.mask for block in torus.blocks(shape)) for shape in shapes)) if torus else ()
    )
