"""Trainium: one trn1.2xlarge, one trn1.32xlarge. ``python -m seed.trn1`` seeds both."""

from trninv.catalog.models import ChipModel, DomainModel, LinkModel, ServerModel, System
from trninv.topology.blueprint import torus_domain

CHIP = ChipModel("trainium1", "Trainium", "trn1", "NeuronCore-v2")
NEURONLINK = LinkModel("neuronlink-v2", "NeuronLink-v2", "server")
SINGLE = ServerModel("trn1.2xlarge", CHIP)
SERVER = ServerModel("trn1.32xlarge", CHIP)

TRN1_2XLARGE = DomainModel(
    slug="trn1.2xlarge",
    name="Trn1.2xlarge",
    server=SINGLE,
    blueprint=torus_domain((1,), (), chips_per_nic=1),
    links={"nic": LinkModel("efa-trn1.2xlarge", "EFA", "host")},
)
TRN1_32XLARGE = DomainModel(
    slug="trn1.32xlarge",
    name="Trn1.32xlarge",
    server=SERVER,
    blueprint=torus_domain((4, 4), ("plane", "plane"), chips_per_nic=2),
    links={"plane": NEURONLINK, "nic": LinkModel("efa-100", "EFA", "host")},
)

SYSTEMS = [
    System("trn1.2xlarge", "One Trn1.2xlarge server", TRN1_2XLARGE, aliases=("trn1.2xl",)),
    System("trn1.32xlarge", "One Trn1.32xlarge server", TRN1_32XLARGE, aliases=("trn1", "trn1.32xl")),
]

if __name__ == "__main__":
    from seed import run

    run(SYSTEMS)
