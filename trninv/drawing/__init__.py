"""The explorer's pictures as SVG: wirings, racks, fleets, fabrics."""
