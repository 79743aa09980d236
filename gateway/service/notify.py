"""The datagrams of `sd_notify(3)`, without a C library.

They are best effort: that nobody listens any more is no fault of the program.
"""

from __future__ import annotations

import logging
import socket

log = logging.getLogger(__name__)


class Notifier:
    """Tells systemd how the service is; `address` is `$NOTIFY_SOCKET`."""

    def __init__(self, address: str) -> None:
        # A name that begins with "@" is in the kernel's namespace of sockets without a file.
        self._address = f"\0{address[1:]}" if address.startswith("@") else address

    def ready(self, status: str) -> None:
        """The service works (again)."""
        self._tell("READY=1", f"STATUS={status}")

    def reloading(self, monotonic_s: float) -> None:
        """The configuration is being read again; `ready` ends that."""
        self._tell("RELOADING=1", f"MONOTONIC_USEC={int(monotonic_s * 1e6)}")

    def stopping(self) -> None:
        """The service has begun to end."""
        self._tell("STOPPING=1", "STATUS=stopping")

    def alive(self) -> None:
        """Feed the watchdog."""
        self._tell("WATCHDOG=1")

    def status(self, text: str) -> None:
        """A line for `systemctl status`."""
        self._tell(f"STATUS={text}")

    def _tell(self, *lines: str) -> None:
        message = "\n".join(line.replace("\n", " ") for line in lines)
        kind = socket.SOCK_DGRAM | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK
        try:
            with socket.socket(socket.AF_UNIX, kind) as to:
                to.sendto(message.encode(), self._address)
        except OSError as error:
            log.warning("the service manager was not told %s: %s", lines[0], error)
