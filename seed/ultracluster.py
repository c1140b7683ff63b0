"""UltraClusters: Trainium, Project Rainier, and what UltraClusters 3.0 may hold. ``python -m seed.ultracluster``."""

import runpy
from pathlib import Path

from trninv.catalog.models import DomainModel, System


def _domain(script: str, name: str) -> DomainModel:
    model = runpy.run_path(str(Path(__file__).with_name(script)))[name]
    assert isinstance(model, DomainModel)
    return model


SYSTEMS = [
    System(
        "trn1-ultracluster",
        "Trn1 UltraCluster: over 30,000 chips",
        _domain("trn1.py", "TRN1_32XLARGE"),
        domains=1_876,
    ),
    System(
        "rainier",
        "Project Rainier: 400,000 Trainium2 chips",
        _domain("trn2.py", "U_TRN2X64"),
        domains=6_250,
        large=True,
    ),
    System(
        "trn3-ultracluster",
        "UltraCluster 3.0: up to 1,000,000 Trainium3 chips",
        _domain("trn3.py", "GEN2"),
        domains=6_944,
        large=True,
    ),
]

if __name__ == "__main__":
    from seed import run

    run(SYSTEMS)
