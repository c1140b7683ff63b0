"""Build the nodes and links of domains and fabrics, with local node numbers instead of database ids.

A wiring pattern (such as chain, switched or torus) describes the links inside a domain, the largest group of chips that
NeuronLink connects. A fabric is the EFA network between the domains of a cluster.
"""
