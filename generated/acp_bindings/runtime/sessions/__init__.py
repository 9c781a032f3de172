"""Sessions: what people do over a connection, on either side of it."""
