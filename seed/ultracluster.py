"""UltraClusters: Trainium, Project Rainier, and UltraClusters 3.0. ``python -m seed.ultracluster``."""

from trninv.catalog.models import default_systems

SYSTEMS = default_systems().declared["ultracluster"]

if __name__ == "__main__":
    from seed import run

    run(SYSTEMS)
