"""Turn on the loopback interface, as `ip link set lo up` does, and run a command: ``python loopback.py COMMAND…``.

For a new network namespace, which has no other interface.
"""

import fcntl
import os
import socket
import struct
import sys

_SIOCSIFFLAGS, _IFF_UP = 0x8914, 1

if __name__ == "__main__":
    with socket.socket() as connection:
        fcntl.ioctl(connection, _SIOCSIFFLAGS, struct.pack("16sh", b"lo", _IFF_UP))
    os.execvp(sys.argv[1], sys.argv[1:])  # noqa: S606 # the command that a test names
