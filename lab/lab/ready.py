# SPDX-License-Identifier: MIT
"""What tests of several folders ask before and while they use a lab: can it be made here, and is a daemon ready."""
import os
import shutil
import socket
import subprocess
import time

from .host import LabError


def reason_to_skip(program, tools=()):
    """Why no lab with these tools can be made here; None if one can."""
    if os.geteuid() != 0:
        return "needs root: network namespaces, XDP"
    missing = [tool for tool in ("ip", "nsenter", "sysctl", *tools) if shutil.which(tool) is None]
    if missing:
        return f"needs {', '.join(missing)}: run packaging/install-dependencies.sh"
    if shutil.which(program) is None:
        return f"needs {program}: run `make build`"
    namespace = subprocess.run(["unshare", "--net", "--mount", "--uts", "true"], capture_output=True, text=True)
    return f"no namespaces here: {namespace.stderr.strip()}" if namespace.returncode != 0 else None


class ReadySocket:
    """Where a daemon says what it would say to systemd: the end of NOTIFY_SOCKET."""

    def __init__(self, path):
        path.unlink(missing_ok=True)
        self.path = path
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(str(path))
        self.socket.settimeout(0.2)

    def environment(self):
        return os.environ | {"NOTIFY_SOCKET": str(self.path)}

    def expect(self, word, process, seconds=20):
        """Reads what the daemon tells until the line `word` comes; the lines that came with it. A LabError if its
        process ends before, or time does."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                lines = self.socket.recv(4096).decode().splitlines()
            except TimeoutError:
                process.expect_running()
                continue
            if word in lines:
                return lines
        raise LabError(f"{process.name}: no {word} within {seconds} s; its log:\n{process.output()}")
