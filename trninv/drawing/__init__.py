"""Pictures as SVG, the same as the explorer draws: wirings, racks, fleets, fabrics."""
