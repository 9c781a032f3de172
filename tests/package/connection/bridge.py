"""A process that passes bytes between its own streams and a socket: `bridge.py PORT`. So a test can play the agent."""

from __future__ import annotations

import os
import socket
import sys
import threading

with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as connection:

    def pass_on() -> None:
        while chunk := os.read(0, 65536):
            connection.sendall(chunk)
        connection.shutdown(socket.SHUT_WR)

    threading.Thread(target=pass_on, daemon=True).start()
    while data := connection.recv(65536):
        os.write(1, data)
