"""Length-prefixed pickles over a socket pair between the parent and one worker that it forked."""

from __future__ import annotations

import pickle
import socket
import struct
from typing import Any

_LENGTH = struct.Struct("<I")


class Channel:
    """One end of a connection; both ends are processes of this harness, so pickles are safe to read."""

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection
        self._received = bytearray()

    def fileno(self) -> int:
        """Return the descriptor, so that a selector can wait for the channel."""
        return self.socket.fileno()

    def send(self, message: Any) -> None:
        """Send one message whole; raises ``OSError`` if the other end is gone."""
        body = pickle.dumps(message, protocol=5)
        self.socket.sendall(_LENGTH.pack(len(body)) + body)

    def receive(self) -> list[Any] | None:
        """Wait for data and return every whole message in it; None when the other end has closed."""
        try:
            data = self.socket.recv(1 << 18)
        except ConnectionResetError:
            return None
        if not data:
            return None
        return self._take(data)

    def drain(self) -> list[Any]:
        """Return what has already arrived, without waiting; for a worker that is known to be dead."""
        messages: list[Any] = []
        self.socket.setblocking(False)
        try:
            while data := self.socket.recv(1 << 18):
                messages.extend(self._take(data))
        except (BlockingIOError, ConnectionResetError):
            pass
        return messages

    def close(self) -> None:
        """Close this end."""
        self.socket.close()

    def _take(self, data: bytes) -> list[Any]:
        self._received += data
        messages = []
        start = 0
        while len(self._received) - start >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._received, start)
            if len(self._received) - start - _LENGTH.size < length:
                break
            start += _LENGTH.size
            messages.append(pickle.loads(self._received[start : start + length]))
            start += length
        del self._received[:start]
        return messages
