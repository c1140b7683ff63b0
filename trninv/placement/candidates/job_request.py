"""Parse the size of a job into the sets of chips that satisfy it; `trninv place` and `make-room` start here.

A size is a number of chips, servers or domains, an amount of memory, or the shape of a box in a torus. Sets are bit
masks of the chips of one domain (`trninv.placement.candidates.free_capacity`).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Final

from trninv.catalog.facts import default_catalog
from trninv.errors import InvalidArgumentError, WrongLevelError
from trninv.placement.candidates.placement_model import AnyServers, LegalSets, PlacementModel, format_shape
from trninv.solvers.torus_blocks import Shape
from trninv.units import Capacity, pluralize

_SHAPE: Final = re.compile(r"[1-9]\d{0,2}(?:[xX×][1-9]\d{0,2}){0,2}", re.ASCII)


@dataclass(frozen=True, slots=True)
class JobRequest:
    """The size of a job, for domains of one model.

    Attributes
    ----------
    description
        The request in words.
    chips
        Number of chips.
    domains
        Number of whole domains, if the job needs more than one; else 0.
    sets
        Sets of chips in a domain that satisfy the request, or `AnyServers`: any so many servers of a rack. Empty if the
        request needs several domains.
    shapes
        The shapes of these sets, if they are boxes.

    """

    description: str
    chips: int
    domains: int = 0
    sets: tuple[int, ...] | AnyServers = ()
    shapes: tuple[Shape, ...] = ()


def check_arguments(command: str, scope: str | None, shape: str | None, **sizes: object) -> None:
    """Refuse a request without exactly one size, or with a scope and a shape in the wrong order.

    Parameters
    ----------
    command
        How the command is written, with {scope} and {shape}.
    sizes
        The sizes that the question takes besides a shape, by their options.

    Raises
    ------
    InvalidArgumentError

    """
    scope, shape = scope and scope.strip(), shape and shape.strip()
    count = sum(value is not None for value in (shape, *sizes.values()))
    is_swapped = scope is not None and is_shape(scope)
    if is_swapped and not count:
        written = command.format(scope="SCOPE", shape=scope)
        raise InvalidArgumentError(f"{scope} is a shape; name the scope too: {written}")
    if count != 1:
        *first, last = ("SHAPE (such as 2x2x4)", *(f"--{name}" for name in sizes))
        raise InvalidArgumentError(f"give exactly one of {', '.join(first)} and {last}")
    if is_swapped and shape and not is_shape(shape):
        written = command.format(scope=shape[:200], shape=scope)
        raise InvalidArgumentError(f"{scope} is a shape, {shape[:200]} is not; write {written}")


def is_shape(text: str) -> bool:
    """Return whether a text has the form of a shape, or is a number that is meant as one."""
    return _SHAPE.fullmatch(text.strip()) is not None


def parse_shape(text: str, model: PlacementModel, *, no_rotate: bool) -> tuple[Shape, ...]:
    """Parse a shape, rows × columns × servers; return the boxes of the torus that have it, in all rotations.

    Parameters
    ----------
    no_rotate
        Whether to return only the box as written.

    Raises
    ------
    InvalidArgumentError
        The text is not a shape, or the shape does not fit in a domain.
    WrongLevelError
        The chips of the model do not form a torus.

    """
    if text.isdecimal():
        raise InvalidArgumentError(
            f"shape {text[:40]} is a number; write --chips {text[:40]}, or {text[:40]}x1 for a box in one row"
        )
    if not _SHAPE.fullmatch(text):
        raise InvalidArgumentError(f"shape {text[:40]!r}: write rows, columns and servers as 2x2x4")
    if model.torus is None:
        reason = "is switched, so its chips have no shape" if model.chips > 1 else "has one chip and no shape"
        raise WrongLevelError(f"{model.slug} {reason}; use --chips or --servers")
    spans = tuple(map(int, re.split("[xX×]", text)))
    sides = model.torus.sides
    shapes = model.torus.orientations(spans)
    if no_rotate:
        padded = spans + (1,) * (len(sides) - len(spans))
        # In a torus of three axes, the axis of servers comes first; users write it last.
        as_written = (padded[-1], *padded[:-1]) if len(sides) > 2 else padded  # noqa: PLR2004
        shapes = tuple(shape for shape in shapes if shape == as_written)
    if not shapes:
        largest = format_shape(sides)
        raise InvalidArgumentError(f"shape {text} does not fit in a domain of {model.slug}; the largest is {largest}")
    return shapes


def parse_groups(chips: int, sizes: Sequence[int]) -> JobRequest:
    """Return the request for so many chips in groups of these sizes, the largest first."""
    groups = " of ".join(f"groups of {size:,}" for size in sizes)
    return JobRequest(f"{pluralize(chips, 'chip')} in {groups}", chips)


def parse_request(
    model: PlacementModel,
    legal_sets: LegalSets,
    *,
    shape: str | None,
    chips: int | None,
    memory: Capacity | None,
    servers: int | None,
    domains: int | None,
    max_domains: int,
    any_block: bool | None,
    no_rotate: bool,
) -> JobRequest:
    """Parse the one size that is not None (`check_arguments`).

    Parameters
    ----------
    max_domains
        Number of domains in the scope; messages suggest no more.
    any_block
        Whether any box of a torus with so many chips will do, not only a legal set; None if the command has no such
        option.
    no_rotate
        Whether a shape must not be rotated.

    Raises
    ------
    InvalidArgumentError
        A size above one domain is not a whole number of domains.
    IllegalSizeError
        No scheduler grants so many chips.

    """
    if shape is not None:
        shapes = parse_shape(shape, model, no_rotate=no_rotate)
        return JobRequest(shape, prod(shapes[0]), sets=_block_masks(model, shapes), shapes=shapes)
    if domains is not None or (servers or 0) > model.servers:
        count, surplus = divmod(domains * model.servers if domains is not None else servers or 0, model.servers)
        return _request_domains(model, count, surplus, servers or 0, "server", model.servers, max_domains)
    if servers is not None:
        return _request_within_domain(model, legal_sets, servers, "server", any_block=any_block)
    if memory is not None:
        chips = _chips_for_memory(model, legal_sets, memory, any_block=any_block)
    if (chips or 0) > model.chips:
        count, surplus = divmod(chips or 0, model.chips)
        return _request_domains(model, count, surplus, chips or 0, "chip", model.chips, max_domains)
    return _request_within_domain(model, legal_sets, chips or 0, "chip", any_block=any_block)


def _request_domains(
    model: PlacementModel, domains: int, surplus: int, requested: int, unit: str, per_domain: int, max_domains: int
) -> JobRequest:
    """Return a request for whole domains; refuse it if units (chips or servers) are left over."""
    if surplus:
        counts = sorted({min(count, max_domains) for count in (domains, domains + 1)})
        nearest = " or ".join(f"{count * per_domain:,}" for count in counts)
        raise InvalidArgumentError(
            f"{pluralize(requested, unit)} are not a whole number of domains ({per_domain} each); ask for {nearest}"
        )
    description = pluralize(domains, "whole domain")
    if domains == 1:
        return JobRequest(description, model.chips, sets=(model.full,))
    return JobRequest(description, domains * model.chips, domains)


def _request_within_domain(
    model: PlacementModel, legal_sets: LegalSets, requested: int, unit: str, *, any_block: bool | None
) -> JobRequest:
    """Return a request for chips or servers (the unit) of one domain."""
    in_servers, description = unit == "server", pluralize(requested, unit)
    chips = requested * model.chips_per_server if in_servers else requested
    if any_block and model.torus:
        shapes = tuple(shape for shape in model.torus.shapes if prod(shape) == chips)
        if not shapes:
            raise InvalidArgumentError(f"{chips} chips form no box on {model.slug}; choose sides that fit")
        sets = _block_masks(model, shapes)
        return JobRequest(
            description, chips, sets=_whole_server_sets(model, sets) if in_servers else sets, shapes=shapes
        )
    legal_sets.check_size(model, chips, "a shape" if any_block is None else "--any-block", in_servers=in_servers)
    return JobRequest(description, chips, sets=legal_sets.any_of.get(chips) or legal_sets.sets[chips])


def _chips_for_memory(model: PlacementModel, legal_sets: LegalSets, memory: Capacity, *, any_block: bool | None) -> int:
    """Return the smallest number of chips with at least so much memory.

    Within a domain, the number is a legal size or, with ``any_block``, the size of any box; beyond a domain, it is that
    of whole domains.
    """
    chip_memory = default_catalog().picked_value(model.domain_model.server.chip.slug, "device_memory")
    min_chips = -(-int(memory) // chip_memory)  # rounded up
    if min_chips > model.chips:
        return -(-min_chips // model.chips) * model.chips  # whole domains, rounded up
    sizes = {prod(shape) for shape in model.torus.shapes} if any_block and model.torus else legal_sets.sizes
    return min(size for size in sizes if size >= min_chips)


def _whole_server_sets(model: PlacementModel, sets: Sequence[int]) -> tuple[int, ...]:
    """Return the sets that consist of whole servers."""
    return tuple(
        mask for mask in sets if all(mask & server_mask in {0, server_mask} for server_mask in model.server_masks)
    )


def _block_masks(model: PlacementModel, shapes: Sequence[Shape]) -> tuple[int, ...]:
    """Return the mask of every position of every shape in a torus."""
    return tuple(block.mask for shape in shapes for block in model.torus.blocks(shape)) if model.torus else ()
