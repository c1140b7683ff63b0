"""Trainium2: one trn2-16.48xlarge server, one u-trn2x64 UltraServer. ``python -m seed.trn2`` seeds both."""

from trninv.catalog.models import ChipModel, DomainModel, LinkModel, ServerModel, System
from trninv.topology.blueprint import torus_domain

# aws-neuron-driver v3/neuron_dhal_v3.c, v3_routing_id_to_user_id: neighbours in that order share a tray
TRAYS = ((0, 3), (4, 7), (12, 15), (8, 11), (1, 2), (5, 6), (13, 14), (9, 10))

CHIP = ChipModel("trainium2", "Trainium2", "trn2", "NeuronCore-v3")
PLANE = LinkModel("neuronlink-v3-plane", "NeuronLink-v3", "server")
RING = LinkModel("neuronlink-v3-ring", "NeuronLink-v3", "domain")
NIC = LinkModel("efa-200", "EFA", "host")
SERVER = ServerModel("trn2-16.48xlarge", CHIP, trays=TRAYS)

TRN2_16 = DomainModel(
    slug="trn2-16.48xlarge",
    name="Trn2-16.48xlarge",
    server=SERVER,
    blueprint=torus_domain((4, 4), ("plane", "plane"), chips_per_nic=1),
    links={"plane": PLANE, "nic": NIC},
    domains_per_rack=2,
)
U_TRN2X64 = DomainModel(
    slug="u-trn2x64",
    name="Trn2 UltraServer",
    server=SERVER,
    blueprint=torus_domain((4, 4, 4), ("ring", "plane", "plane"), chips_per_nic=1, servers_by_rack=(2, 2)),
    links={"plane": PLANE, "ring": RING, "nic": NIC},
)

SYSTEMS = [
    System(
        "trn2-16.48xlarge",
        "One Trn2 server",
        TRN2_16,
        aliases=("trn2", "trn2-16", "trn2.48xlarge", "trn2.48xl"),
    ),
    System(
        "u-trn2x64",
        "One Trn2 UltraServer of four servers",
        U_TRN2X64,
        aliases=("trn2u", "trn2u.48xlarge", "trn2u-ultraserver", "trn2-ultraserver", "trn2-ultra"),
    ),
]

if __name__ == "__main__":
    from seed import run

    run(SYSTEMS)
