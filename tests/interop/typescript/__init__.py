"""The reference TypeScript SDK, from both sides."""
