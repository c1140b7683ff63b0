"""Inferentia2: one inf2.xlarge, inf2.8xlarge, inf2.24xlarge, inf2.48xlarge. ``python -m seed.inf2`` seeds all four."""

from trninv.catalog.models import default_systems

SYSTEMS = default_systems().declared["inf2"]

if __name__ == "__main__":
    from seed import run

    run(SYSTEMS)
