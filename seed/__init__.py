"""What to load: facts in catalog/*.toml, and one script per generation that declares its systems."""
