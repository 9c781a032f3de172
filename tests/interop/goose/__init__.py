"""Our client and the real Goose, which speaks to a scripted model."""
