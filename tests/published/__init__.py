"""Every schema that was ever published: it generates without any TOML, imports, and round-trips values."""
