# SPDX-License-Identifier: MIT
"""A transfer both ways at once with a TCP echo service, judged by the digest of what comes back."""
import hashlib
import json
import sys

# Runs on the host that sends: prints the digest of the answer, and the MSS at the beginning and the MTU at the end
# that the kernel knows for the way (TCP_MAXSEG; IP_MTU, IPV6_MTU).
CLIENT = """
import hashlib, json, socket, sys, threading
address, port, size, patience = sys.argv[1], *map(int, sys.argv[2:5])
data = bytes(range(251)) * (size // 251)
with socket.create_connection((address, port), patience) as tcp:
    mss = tcp.getsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG)
    def send():
        tcp.sendall(data)
        tcp.shutdown(socket.SHUT_WR)
    threading.Thread(target=send, daemon=True).start()
    digest = hashlib.sha256()
    while piece := tcp.recv(1 << 16):
        digest.update(piece)
    mtu = tcp.getsockopt(*((41, 24) if ":" in address else (socket.IPPROTO_IP, 14)))
print(json.dumps({"digest": digest.hexdigest(), "mss": mss, "mtu": mtu}))
"""


def digest_of(size):
    return hashlib.sha256(bytes(range(251)) * (size // 251)).hexdigest()


def command(address, port, size, patience):
    """`patience`: seconds without an answer or progress."""
    return sys.executable, "-c", CLIENT, address, port, size, patience


def transfer(host, address, port, size, patience, timeout):
    """{"digest", "mss", "mtu"}"""
    return json.loads(host.run(*command(address, port, size, patience), timeout=timeout).stdout)
