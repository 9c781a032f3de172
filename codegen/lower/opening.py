"""How a version spells `initialize`, read off the types of its members."""

from __future__ import annotations

from collections.abc import Mapping

from codegen import ir


def read_opening(methods: tuple[ir.Method, ...], definitions: Mapping[str, ir.Definition]) -> ir.Opening | None:
    """The members of `initialize`'s request and response that hold info, capabilities and auth methods."""
    method = next((one for one in methods if (one.side, one.name) == ("agent", "initialize")), None)
    if method is None or method.result is None:
        return None
    request, response = definitions.get(method.params), definitions.get(method.result)
    if not isinstance(request, ir.Struct) or not isinstance(response, ir.Struct):
        return None
    return ir.Opening(
        request=request.name,
        response=response.name,
        client_info=_member(request, "Implementation"),
        client_capabilities=_member(request, "ClientCapabilities"),
        agent_info=_member(response, "Implementation"),
        agent_capabilities=_member(response, "AgentCapabilities"),
        auth_methods=_member(response, "AuthMethod"),
    )


def _member(struct: ir.Struct, name: str) -> str:
    """The member whose type mentions the definition `name`."""
    return next((field.name for field in struct.fields if name in ir.references(field.type)), "")
