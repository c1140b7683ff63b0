"""Trainium3: one Gen1 and one Gen2 UltraServer. ``python -m seed.trn3`` seeds both."""

from trninv.catalog.models import default_systems

SYSTEMS = default_systems().declared["trn3"]

if __name__ == "__main__":
    from seed import run

    run(SYSTEMS)
