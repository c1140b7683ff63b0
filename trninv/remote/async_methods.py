"""Collect the methods of `AsyncFleet`: the questions, changes and readings of `Fleet`.

The stub async_methods.pyi, which tests/fleet_stub.py writes, has their types.
"""

import inspect

from trninv.placement.change_methods import ChangeMethods
from trninv.placement.placement_fleet import Fleet
from trninv.placement.placement_methods import PlacementMethods
from trninv.routing.question_methods import is_reading
from trninv.routing.routing_methods import RoutingMethods


class AsyncMethods(RoutingMethods, PlacementMethods, ChangeMethods):
    """A base class whose methods return what the class's `ask`, `make_change` and `call_reading` return."""


for _name, _method in inspect.getmembers(Fleet, is_reading):
    setattr(AsyncMethods, _name, _method)
