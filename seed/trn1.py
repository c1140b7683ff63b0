"""Trainium: one trn1.2xlarge, one trn1.32xlarge. ``python -m seed.trn1`` seeds both."""

from trninv.catalog.models import default_systems

SYSTEMS = default_systems().declared["trn1"]

if __name__ == "__main__":
    from seed import run

    run(SYSTEMS)
