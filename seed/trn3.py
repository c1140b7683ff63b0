"""Trainium3: one Gen1 and one Gen2 UltraServer. ``python -m seed.trn3`` seeds both."""

from trninv.catalog.models import ChipModel, DomainModel, LinkModel, ServerModel, System
from trninv.topology.blueprint import switched_domain
from trninv.topology.switched import Switched

CHIP = ChipModel("trainium3", "Trainium3", "trn3", "NeuronCore-v4")
LINKS = {
    "server": LinkModel("neuronlink-v4-server", "NeuronLink-v4", "server"),
    "rack": LinkModel("neuronlink-v4-rack", "NeuronLink-v4", "rack"),
    "twin": LinkModel("neuronlink-v4-twin", "NeuronLink-v4", "domain"),
    "nic": LinkModel("efa-trn3", "EFA", "host"),
}

GEN1 = DomainModel(
    slug="trn3-gen1",
    name="Trn3 Gen1 UltraServer",
    server=ServerModel(
        "trn3-gen1-server",
        CHIP,
        trays=tuple((chip, chip + 1) for chip in range(0, 16, 2)),  # aws-neuron-driver v4: one JBOG a pair
    ),
    blueprint=switched_domain(Switched(racks=2, servers_per_rack=2, chips_per_server=16), chips_per_nic=1),
    links=LINKS,
)
GEN2 = DomainModel(
    slug="trn3-gen2",
    name="Trn3 Gen2 UltraServer",
    server=ServerModel("trn3-gen2-server", CHIP, trays=((0, 1, 2, 3),)),
    blueprint=switched_domain(Switched(racks=2, servers_per_rack=18, chips_per_server=4), chips_per_nic=1),
    links=LINKS,
)

SYSTEMS = [
    System("trn3-gen1", "One Trn3 Gen1 UltraServer", GEN1, aliases=("trn3-gen1-ultraserver", "trn3.gen1")),
    System("trn3-gen2", "One Trn3 Gen2 UltraServer", GEN2, aliases=("trn3", "trn3-gen2-ultraserver", "trn3.gen2")),
]

if __name__ == "__main__":
    from seed import run

    run(SYSTEMS)
