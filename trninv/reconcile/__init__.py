"""Compare observed machines with the design: decide which machine is in which slot, and detect differences (drift).

A slot is a server's place in the design.
"""
