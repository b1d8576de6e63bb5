#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The services of a backend: server.py NAME ECHO DATA LATE ADDRESS...

Port ECHO, UDP and TCP: "NAME PEER PORT " and what was said, so that a client sees who answered and whom it took the
client for. Port DATA, TCP: "get N" gives N bytes, "put N" takes N bytes and answers with their SHA-256. Port LATE,
UDP: the answer comes after the client has left; what came of it is printed: "ADDRESS PEER PORT: error TYPE CODE".
"""
import hashlib
import select
import selectors
import socket
import struct
import sys
import threading
import time

RECVERR = {socket.AF_INET: (socket.IPPROTO_IP, 11), socket.AF_INET6: (socket.IPPROTO_IPV6, 25)}
PATTERN = bytes(range(251)) * 264


def stream(size):
    """`size` bytes that repeat every 251: what is lost, doubled or exchanged shows."""
    for start in range(0, size, len(PATTERN)):
        yield PATTERN[:size - start]


def digest_of(size):
    digest = hashlib.sha256()
    for piece in stream(size):
        digest.update(piece)
    return digest.hexdigest()


def receive(tcp, size):
    """The digest of what comes, at most `size` bytes, and how much it was."""
    digest, left = hashlib.sha256(), size
    while left and (piece := tcp.recv(min(left, 1 << 18))):
        digest.update(piece)
        left -= len(piece)
    return digest.hexdigest(), size - left


def transfer(tcp):
    with tcp:
        word, size = tcp.makefile("rb", buffering=0).readline().split()
        if word == b"get":
            for piece in stream(int(size)):
                tcp.sendall(piece)
        else:
            tcp.sendall(receive(tcp, int(size))[0].encode())


def serve_data(listener):
    while True:
        threading.Thread(target=transfer, args=listener.accept()[:1], daemon=True).start()


def listen(port):
    tcp = socket.socket(socket.AF_INET6, socket.SOCK_STREAM)
    tcp.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    tcp.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    tcp.bind(("::", port))
    tcp.listen(4096)
    return tcp


def listen_udp(address, port):
    udp = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM)
    udp.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    udp.bind((address, port))
    return udp


def answer_late(address, port):
    udp = listen_udp(address, port)
    udp.setsockopt(*RECVERR[udp.family], 1)
    errors = select.poll()
    errors.register(udp, 0)                   # POLLERR is always told
    while True:
        data, sender = udp.recvfrom(2000)
        time.sleep(0.1)
        udp.sendto(data, sender)
        if errors.poll(2000):
            error = error_from_queue(udp)
            print(f"{address} {sender[0]} {sender[1]}: error {error[1]} {error[2]}", flush=True)


def error_from_queue(sock):
    """[offender, ICMP type, code]: the error in a socket's queue (struct sock_extended_err); None without one."""
    try:
        _, extra, _, _ = sock.recvmsg(2000, 512, socket.MSG_ERRQUEUE)
    except BlockingIOError:
        return None
    for level, kind, body in extra:
        _, origin, error_type, code, _, _, _ = struct.unpack("IBBBBII", body[:16])
        if (level, kind) == RECVERR[sock.family] and origin in (2, 3):       # ICMP, ICMPv6
            at, size = (24, 16) if sock.family == socket.AF_INET6 else (20, 4)
            return [socket.inet_ntop(sock.family, body[at:at + size]), error_type, code]
    return None


class Echo:
    def __init__(self, name, port, addresses):
        self.name, self.selector = name, selectors.EpollSelector()
        tcp = listen(port)
        tcp.setblocking(False)
        self.selector.register(tcp, selectors.EVENT_READ, self.accept)
        for address in addresses:
            self.selector.register(listen_udp(address, port), selectors.EVENT_READ, self.datagram)

    def head(self, peer):
        return f"{self.name} {peer[0].removeprefix('::ffff:')} {peer[1]} ".encode()

    def accept(self, listener):
        try:
            while True:
                tcp, _ = listener.accept()
                self.selector.register(tcp, selectors.EVENT_READ, self.say)
        except BlockingIOError:
            pass

    def say(self, tcp):
        try:
            data = tcp.recv(65536)
            if data:
                tcp.sendall(self.head(tcp.getpeername()) + data)
                return
        except OSError:
            pass
        self.selector.unregister(tcp)
        tcp.close()

    def datagram(self, udp):
        data, sender = udp.recvfrom(65536)
        try:
            udp.sendto(self.head(sender) + data, sender)
        except OSError:       # an error about an answer before
            pass

    def run(self):
        while True:
            for key, _ in self.selector.select():
                key.data(key.fileobj)


if __name__ == "__main__":
    _, own_name, echo_port, data_port, late_port, *own = sys.argv
    echo = Echo(own_name, int(echo_port), own)
    tasks = [(serve_data, listen(int(data_port))), *((answer_late, address, int(late_port)) for address in own)]
    for task, *arguments in tasks:
        threading.Thread(target=task, args=arguments, daemon=True).start()
    print("ready", flush=True)
    echo.run()
