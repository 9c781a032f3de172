"""Real peers at the other end: agents and clients that others wrote. `make interop` runs these tests."""
