"""acp-codegen: ACP JSON Schemas in, a typed Python package out."""

__version__ = "0.1.0"
