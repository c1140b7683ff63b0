"""What to load: facts in catalog/*.toml, and one script a generation that declares its systems."""
