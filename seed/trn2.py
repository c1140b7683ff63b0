"""Trainium2: one trn2-16.48xlarge server, one u-trn2x64 UltraServer. ``python -m seed.trn2`` seeds both."""

from trninv.catalog.models import default_systems

SYSTEMS = default_systems().declared["trn2"]

if __name__ == "__main__":
    from seed import run

    run(SYSTEMS)
