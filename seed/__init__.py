"""What to load: facts and systems in catalog/*.toml, and a script a generation that seeds its systems."""
