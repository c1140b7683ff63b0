"""Other programs' formats: the fleet as schedulers, graph tools and simulators read it."""
