"""The connection between a child process and its worker: frames over a socket."""

from __future__ import annotations

import fcntl
import json
import os
import select
import socket
import threading
from typing import Any

MAX_FRAME = 257 << 20
LOOK = 1.0
"""How soon a child learns that a handler has closed its connection, in seconds."""
Message = dict[str, Any]


class Connection:
    """The socket between a child and its worker."""

    def __init__(self) -> None:
        # Out of the way of handlers, and of the programs that they start.
        # Not where standard output and error belong, if those are closed.
        self._socket = socket.socket(fileno=fcntl.fcntl(0, fcntl.F_DUPFD_CLOEXEC, 3))
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.close(null)
        self._writing = threading.Lock()
        self._process = os.getpid()

    def send(self, raw: tuple[str, bytes] | None = None, **message: object) -> None:
        """Send a message, with one more field that is JSON already."""
        frame = json.dumps(message).encode()
        if raw is not None:
            frame = b'%b,"%b":%b}' % (frame[:-1], raw[0].encode(), raw[1])
        if len(frame) > MAX_FRAME:
            raise ValueError(f"a message of {len(frame)} bytes is over the limit of {MAX_FRAME}")
        if os.getpid() != self._process:
            # What a handler has forked does not speak for it.
            return
        with self._writing:
            self._socket.sendall(len(frame).to_bytes(4, "big") + frame)

    def receive(self) -> Message | None:
        """Return the next message; `None`: the worker has closed the connection."""
        head = self._read(4)
        text = self._read(int.from_bytes(head, "big")) if head is not None else None
        return json.loads(text) if text is not None else None

    def _read(self, count: int) -> bytes | None:
        data = bytearray()
        while len(data) < count:
            try:
                more = self._socket.recv(count - len(data))
            except ConnectionError:
                return None
            if not more:
                return None
            data += more
        return bytes(data)

    def wait(self) -> None:
        """Wait for the beginning of a message, or the end.

        Raises `OSError` if this process has closed the connection, which wakes nobody up.
        """
        while not select.select([self._socket], [], [], LOOK)[0]:
            pass

    def forked(self) -> None:
        """Go on in a forked process, while its parent waits."""
        self._process = os.getpid()
