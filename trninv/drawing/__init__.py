"""Draw the explorer's pictures as SVG: wirings, racks, fleets, fabrics, jobs and availability."""
