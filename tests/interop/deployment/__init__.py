"""How agents run in production: behind nginx as docs/deploying.md has it, and asked by pages in a browser."""
