# SPDX-License-Identifier: MIT
"""A node on a veth, with packet sockets at both ends:

    [ node ] eth0 ----- eth0 [ far ]

`fairlead run` has the left end. Frames go in at the right end, one after the other and never more at once than
rings hold; what comes back there has left the engine, and what the host's stack got is seen by a socket at the left.
Neither host has an address, so that nobody else says anything and no VIP prefix leaves one out.
"""
import ctypes
import os
import re
import select
import socket
import struct
import time
from contextlib import contextmanager
from pathlib import Path

from kit.packets import NODE_MAC, ROUTER_MAC
from lab.host import LIBC
from lab.ready import ReadySocket
from replays import PROGRAM

ETH_P_ALL, CLONE_NEWNET = 3, 0x40000000
SOL_PACKET, PACKET_AUXDATA, PACKET_IGNORE_OUTGOING = 263, 8, 23
TP_STATUS_VLAN_VALID, TP_STATUS_VLAN_TPID_VALID = 1 << 4, 1 << 6
AT_ONCE = 32                  # frames under way; the rings of a veth hold 256
LARGEST = 1900                # bytes of a frame that the cable takes, with a tunnel


@contextmanager
def inside(host):
    """This thread in the network namespace of a lab's host."""
    with open("/proc/thread-self/ns/net") as ours, open(f"/proc/{host.keeper.pid}/ns/net") as theirs:
        enter(theirs)
        try:
            yield
        finally:
            enter(ours)


def enter(namespace):
    if LIBC.setns(namespace.fileno(), CLONE_NEWNET) != 0:
        error = ctypes.get_errno()
        raise OSError(error, f"setns: {os.strerror(error)}")


class Tap:
    """Every frame that an interface of a host receives, and a way to send on it."""

    def __init__(self, host, interface):
        with inside(host):
            self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
            self.socket.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
            self.socket.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
            self.socket.bind((interface, ETH_P_ALL))
        self.frames = []

    def send(self, frame):
        self.socket.send(frame)

    def read(self):
        """Takes what has come so far."""
        while select.select([self.socket], [], [], 0)[0]:
            data, extra, _, _ = self.socket.recvmsg(65536, 256)
            self.frames.append(with_tag(data, extra))

    def wait_for(self, count, seconds=5):
        end = time.monotonic() + seconds
        while True:
            self.read()
            left = end - time.monotonic()
            if len(self.frames) >= count or left <= 0:
                return
            select.select([self.socket], [], [], left)


def with_tag(data, extra):
    """The kernel takes the outermost tag out of a received frame and tells it beside."""
    for level, kind, body in extra:
        if (level, kind) == (SOL_PACKET, PACKET_AUXDATA):
            status, _, _, _, _, tci, tpid = struct.unpack("IIIHHHH", body[:20])
            if status & TP_STATUS_VLAN_VALID:
                tpid = tpid if status & TP_STATUS_VLAN_TPID_VALID else 0x8100
                return data[:12] + struct.pack(">HH", tpid, tci) + data[12:]
    return data


class Wire:
    def __init__(self, lab, engine, config):
        self.node, self.far = lab.host("node"), lab.host("far")
        lab.cable(self.node, "eth0", self.far, "eth0", mtu=2000)
        for host, mac in ((self.node, NODE_MAC), (self.far, ROUTER_MAC)):
            host.sysctl(net__ipv6__conf__eth0__disable_ipv6=1)
            host.ip("address flush dev lo", "link set eth0 down", f"link set eth0 address {mac} arp off",
                    "link set eth0 up")
        # Without a program at the far end a veth does not take what XDP_TX sends.
        program = Path(PROGRAM[0]).parent / "bpf/pass.bpf.o"
        self.far.ip(f"link set dev eth0 xdpdrv obj {program} sec xdp.frags")
        self.place = lab.folder / "node"
        self.place.mkdir()
        config.but(node={"http": str(self.place / "http.sock")}, engine=engine).write(self.place)
        self.back, self.passed = Tap(self.far, "eth0"), Tap(self.node, "eth0")
        ready = ReadySocket(self.place / "notify.sock")
        self.daemon = self.node.start("fairlead", *PROGRAM, "run", "-c", self.place / "node.toml",
                                      env=ready.environment())
        ready.expect("READY=1", self.daemon, 30)

    def exchange(self, frames, lines):
        """Sends the frames; `lines` say what becomes of each, so that it is known how much to wait for."""
        wanted = {self.back: 0, self.passed: 0}
        for start in range(0, len(frames), AT_ONCE):
            for frame, line in zip(frames[start:start + AT_ONCE], lines[start:start + AT_ONCE]):
                self.back.send(frame)
                wanted[self.back] += len(line.get("out", []))
                wanted[self.passed] += line["verdict"] == "pass"
            # A fragment may be waiting for its first one, which the next frames bring or do not.
            for tap, count in wanted.items():
                tap.wait_for(count, 0.03)
        for tap, count in wanted.items():
            tap.wait_for(count)
        time.sleep(0.1)                    # for frames that should not come at all
        self.back.read(), self.passed.read()
        self.daemon.expect_running()

    def reasons(self):
        """Packets that the daemon has counted so far, by verdict and reason."""
        text = self.node.run("curl", "-sS", "--unix-socket", self.place / "http.sock",
                             "http://localhost/metrics").stdout
        found = re.findall(r'^fairlead_packets_total\{verdict="(\w+)",reason="(\w+)"\} (\d+)$', text,
                           flags=re.MULTILINE)
        return {(verdict, reason): int(count) for verdict, reason, count in found if int(count)}

