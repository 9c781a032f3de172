"""Programs that the connection benchmarks start, one for each side that is compared."""
