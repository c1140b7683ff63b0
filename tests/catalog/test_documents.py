"""Every number in the four seed documents that describes hardware is a fact, as written, with its quote."""

import pytest

from trninv.catalog.facts import catalog

# source, subject, attribute, value and unit as the document has them
TRN1 = [
    ("trn1.2xlarge", "chips", "1"),
    ("trn1.2xlarge", "vcpus", "8"),
    ("trn1.2xlarge", "host_memory", "32 GiB"),
    ("trn1.2xlarge", "bf16_compute", "210 TFLOPS"),
    ("trn1.2xlarge", "fp8_compute", "210 TFLOPS"),
    ("trn1.2xlarge", "fp32_compute", "52.5 TFLOPS"),
    ("trn1.2xlarge", "device_memory", "32 GiB"),
    ("trn1.2xlarge", "device_memory_bandwidth", "820 GiB/sec"),
    ("trn1.2xlarge", "neuronlink", "N/A"),
    ("trn1.2xlarge", "efa_bandwidth", "up-to 25 Gbps"),
    ("trn1.32xlarge", "chips", "16"),
    ("trn1.32xlarge", "chips", "up to 16"),
    ("trn1.32xlarge", "vcpus", "128"),
    ("trn1.32xlarge", "host_memory", "512 GiB"),
    ("trn1.32xlarge", "bf16_compute", "3,360 TFLOPS"),
    ("trn1.32xlarge", "fp8_compute", "3,360 TFLOPS"),
    ("trn1.32xlarge", "fp32_compute", "840 TFLOPS"),
    ("trn1.32xlarge", "device_memory", "512 GiB"),
    ("trn1.32xlarge", "device_memory_bandwidth", "13,120 GiB/sec"),
    ("trn1.32xlarge", "neuronlink", "Yes"),
    ("trn1.32xlarge", "efa_bandwidth", "800 Gbps"),
    ("trn1.32xlarge", "topology", "4D-HyperCube"),
    ("trn1.32xlarge", "topology", "2D Torus"),
    ("trn1-ultracluster", "chips", "over 30,000"),
    ("trainium1", "cores", "2"),
    ("trainium1", "int8_compute", "420 TOPS"),
    ("trainium1", "bf16_compute", "210 TFLOPS"),
    ("trainium1", "fp8_compute", "210 TFLOPS"),
    ("trainium1", "fp32_compute", "52.5 TFLOPS"),
    ("trainium1", "device_memory", "32 GB"),
    ("trainium1", "device_memory_bandwidth", "820 GB/sec"),
    ("trainium1", "dma_bandwidth", "1 TB/sec"),
]
TRN2 = [
    (system, attribute, value)
    for attribute, values in {
        "chips": ("16", "64"),
        "vcpus": ("192", "768"),
        "host_memory": ("2,048 GiB", "8,192 GiB"),
        "fp8_compute": ("20 PFLOPS", "80 PFLOPS"),
        "bf16_compute": ("10 PFLOPS", "40 PFLOPS"),
        "sparse_compute": ("40 PFLOPS", "160 PFLOPS"),
        "fp32_compute": ("2.9 PFLOPS", "11.6 PFLOPS"),
        "device_memory": ("1,536 GiB", "6,144 GiB"),
        "device_memory_bandwidth": ("46.4 TB/sec", "185.6 TB/sec"),
        "neuronlink_intra_bandwidth": ("1,024 GB/sec/device", "1,024 GB/sec/device"),
        "efa_bandwidth": ("3,200 Gbps", "3,200 Gbps"),
    }.items()
    for system, value in zip(("trn2-16.48xlarge", "u-trn2x64"), values, strict=True)
] + [
    ("u-trn2x64", "neuronlink_inter_bandwidth", "256 GB/sec/device"),
    ("u-trn2x64", "servers", "four"),
    ("trn2-16.48xlarge", "topology", "4x4, 2D Torus"),
    ("u-trn2x64", "inter_server_topology", "ring"),
]
TRN3 = [
    (system, attribute, value)
    for attribute, values in {
        "chips": ("64", "144"),
        "vcpus": ("768", "2304"),
        "host_memory": ("8,192 GiB", "27,648 GiB"),
        "mxfp8_compute": ("161,088 TFLOPS", "362,448 TFLOPS"),
        "bf16_compute": ("42,944 TFLOPS", "96,624 TFLOPS"),
        "fp32_compute": ("11,712 TFLOPS", "26,352 TFLOPS"),
        "device_memory": ("9,216 GiB", "20,736 GiB"),
        "device_memory_bandwidth": ("313.6 TB/sec", "705.6 TB/sec"),
        "neuronlink_bandwidth": ("2,048 GiB/sec/device", "2,048 GiB/sec/device"),
        "efa_bandwidth": ("12,800 Gbps", "28,800 Gbps"),
        "servers": ("four", "36"),
        "chips_per_server": ("16", "4"),
    }.items()
    for system, value in zip(("trn3-gen1", "trn3-gen2"), values, strict=True)
] + [
    ("trn3-gen1", "mxfp8_compute", "161 PetaFLOPS"),
    ("trn3-gen1", "device_memory_bandwidth", "314 TB/s"),
    ("trn3-gen1", "device_memory", "9 TB"),
    ("trn3-gen2", "mxfp8_compute", "362 PetaFLOPS"),
    ("trn3-gen2", "device_memory_bandwidth", "706 TB/s"),
    ("trn3-gen2", "device_memory", "20 TB"),
    ("trn3-gen2", "second_level_switches", "two"),
    ("trn3-sled", "chips_per_server", "4"),
    ("trainium3", "server_switch_links", "four"),
    ("trainium3", "rack_switch_links", "five"),
    ("trainium3", "inter_rack_links", "two"),
    ("trainium3", "neuronlink_intra_bandwidth", "256 GB/s"),
    ("trainium3", "neuronlink_rack_bandwidth", "320 GB/s"),
    ("trainium3", "neuronlink_inter_bandwidth", "128 GB/s"),
]
BLOG = [
    ("trainium2", "bf16_compute", "650 TFLOP/s"),
    ("trainium2", "device_memory", "96 GB"),
    ("trainium2", "compute_dies", "two"),
    ("trainium2", "hbm_stacks", "four"),
    ("trainium2", "systolic_array", "128×128"),
    ("trainium2", "price", "4,000 $"),
    ("h100", "price", "23,000 $"),
    ("trn2-16.48xlarge", "chips", "16"),
    ("u-trn2x64", "chips", "64"),
    ("u-trn2x64", "servers", "four"),
    ("u-trn2x64", "topology", "4x4x4 3D torus"),
    ("trn2-16.48xlarge", "rack_units", "18 U"),
    ("trn2-16.48xlarge", "head_trays", "One"),
    ("trn2-16.48xlarge", "head_tray_units", "2 U"),
    ("trn2-16.48xlarge", "compute_trays", "Eight"),
    ("trn2-16.48xlarge", "compute_tray_units", "2 U"),
    ("trn2-16.48xlarge", "chips_per_tray", "two"),
    ("rainier", "chips", "400,000"),
]
DOCUMENTS = {"trn1-seed": TRN1, "trn2-seed": TRN2, "trn3-seed": TRN3, "latitude-seed": BLOG}


@pytest.mark.parametrize(
    ("source", "subject", "attribute", "written"),
    [(source, *row) for source, rows in DOCUMENTS.items() for row in rows],
)
def test_is_a_fact(source: str, subject: str, attribute: str, written: str) -> None:
    found = [
        fact
        for fact in catalog().of(subject, attribute)
        if fact.source.slug == source and f"{fact.written} {fact.unit}".rstrip() == written
    ]
    assert found
    number = next((word for word in written.split() if word[0].isdigit()), written)
    assert any(number.lower() in fact.quote.lower() for fact in found)
