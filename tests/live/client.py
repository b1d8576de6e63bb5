#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What the client does; each prints one JSON value.

    client.py echo KIND VIP PORT [SIZE [COUNT]]      [[name, peer, port], ...]: whom each of COUNT sockets was
                                                     answered by, and whom that one took it for; KIND is tcp, udp,
                                                     udp-cut (without DF) or udp-again (asks three times)
    client.py fragments VIP PORT SIZE PIECE ORDER N  the same for N datagrams whose fragments of PIECE bytes are sent
                                                     "reversed", or those of all datagrams "mixed"
    client.py hold VIP PORT SOURCE FIRST COUNT       COUNT connections at once, from port FIRST on, used when
                                                     all are open; with a further word, not before a SIGUSR1
    client.py get|put VIP PORT SIZE                  {"sha256":, "mss":, "pmtu":} of a transfer
    client.py probe udp|tcp|icmp VIP PORT TTL        [address, ICMP type, code] that a packet of this TTL got; [] if
                                                     nothing came, "answer" or "refused" from the service
    client.py flood SECONDS PORT VIP...              the number of SYNs that were sent, each from another source
    client.py leave VIP PORT                         the port of a socket that is gone before its answer comes
"""
import collections
import json
import random
import selectors
import signal
import socket
import struct
import sys
import time

from server import RECVERR, error_from_queue, receive, stream

PATIENCE = 5
IP_MTU, IPV6_MTU, IP_MTU_DISCOVER, IP_PMTUDISC_DONT = 14, 24, 10, 0


def family_of(address):
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def pmtu_of(sock):
    if sock.family == socket.AF_INET6:
        return sock.getsockopt(socket.IPPROTO_IPV6, IPV6_MTU)
    return sock.getsockopt(socket.IPPROTO_IP, IP_MTU)


def payload(number, size):
    return (b"%d " % number + bytes(range(256)) * (size // 256 + 1))[:size]


def heard(said, data):
    name, peer, port, rest = said.split(b" ", 3)
    assert rest == data, (len(data), said[:60])
    return [name.decode(), peer.decode(), int(port)]


def echo(kind, vip, port, size=20, count=1):
    answers = []
    for number in range(count):
        data = payload(number, size)
        with socket.socket(family_of(vip), socket.SOCK_STREAM if kind == "tcp" else socket.SOCK_DGRAM) as sock:
            sock.settimeout(1 if kind == "udp-again" else PATIENCE)
            if kind == "udp-cut":
                sock.setsockopt(socket.IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DONT)
            sock.connect((vip, port))
            for left in (2, 1, 0):
                sock.send(data)
                try:
                    said = sock.recv(65536)
                    break
                except OSError:            # nothing came, or it was too big, which the next one will heed
                    if kind != "udp-again" or left == 0:
                        raise
        answers.append(heard(said, data))
    return answers


def checksum(data):
    total = sum(struct.unpack(f">{(len(data) + 1) // 2}H", data + bytes(len(data) % 2)))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff or 0xffff


def datagram(sock, vip, data):
    """(from, to, UDP datagram) from this socket's address and port to the VIP that it is connected to."""
    ends = [socket.inet_pton(sock.family, end[0]) for end in (sock.getsockname(), sock.getpeername())]
    head = struct.pack(">HHH", sock.getsockname()[1], sock.getpeername()[1], 8 + len(data))
    total = checksum(b"".join(ends) + struct.pack(">HH", socket.IPPROTO_UDP, 8 + len(data)) + head + b"\0\0" + data)
    return (*ends, head + struct.pack(">H", total) + data)


def cut(source, target, whole, number, piece):
    """IP packets with at most `piece` bytes of the datagram each."""
    piece = piece // 8 * 8
    for at in range(0, len(whole), piece):
        part, more = whole[at:at + piece], at + piece < len(whole)
        if len(source) == 4:
            yield struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(part), number, more << 13 | at // 8, 64,
                              socket.IPPROTO_UDP, 0) + source + target + part
        else:
            yield (struct.pack(">IHBB", 6 << 28, 8 + len(part), 44, 64) + source + target +
                   struct.pack(">BBHI", socket.IPPROTO_UDP, 0, at | more, number) + part)


def fragments(vip, port, size, piece, order, count):
    family = family_of(vip)
    raw = socket.socket(family, socket.SOCK_RAW, socket.IPPROTO_RAW)
    socks, packets, first = [], [], random.randrange(30_000)
    for number in range(count):
        udp = socket.socket(family, socket.SOCK_DGRAM)
        udp.settimeout(PATIENCE)
        udp.connect((vip, port))
        socks.append(udp)
        packets += reversed([*cut(*datagram(udp, vip, payload(number, size)), first + number, piece)])
    if order == "mixed":
        random.Random(7).shuffle(packets)
    for packet in packets:
        raw.sendto(packet, (vip, 0))
    return [heard(udp.recv(65536), payload(number, size)) for number, udp in enumerate(socks)]


class Held:
    """Connections that are all open before the first one is used."""

    def __init__(self, vip, port, source, first, count):
        self.selector, self.failed, self.answered = selectors.EpollSelector(), collections.Counter(), 0
        self.names, self.peers = collections.Counter(), set()
        self.target, self.open, self.at_once = (vip, port), [], 256
        self.waiting = [(source, first + number) for number in range(count)]

    def begin(self):
        source = self.waiting.pop()
        tcp = socket.socket(family_of(source[0]), socket.SOCK_STREAM)
        tcp.setblocking(False)
        tcp.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        tcp.bind(source)
        tcp.connect_ex(self.target)
        self.selector.register(tcp, selectors.EVENT_WRITE)

    def connect_all(self):
        under_way = 0
        while self.waiting or under_way:
            while self.waiting and under_way < self.at_once:
                self.begin()
                under_way += 1
            ready = self.selector.select(30)
            if not ready:
                self.failed["connect timed out"] += under_way
                break
            for key, _ in ready:
                self.selector.unregister(key.fileobj)
                under_way -= 1
                error = key.fileobj.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
                if error:
                    self.failed[f"connect: error {error}"] += 1
                else:
                    self.open.append(key.fileobj)

    def use_all(self):
        for start in range(0, len(self.open), self.at_once):
            for tcp in self.open[start:start + self.at_once]:
                tcp.send(b"held")
            for tcp in self.open[start:start + self.at_once]:
                tcp.settimeout(30)
                self.use(tcp)

    def use(self, tcp):
        try:
            name, peer, port, rest = tcp.recv(100).split(b" ")
            self.answered += rest == b"held"
            self.names[name.decode()] += 1
            self.peers.add((name, peer, port))
        except (OSError, ValueError) as error:
            self.failed[f"use: {error}"] += 1


def hold(vip, port, source, first, count, until_told=False):
    held = Held(vip, port, source, first, count)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
    held.connect_all()
    if until_told:
        print("open", flush=True)
        signal.sigwait([signal.SIGUSR1])
    held.use_all()
    held.use_all()
    return {"answered": held.answered, "failed": held.failed, "names": held.names, "peers": len(held.peers)}


def transfer(word, vip, port, size):
    with socket.create_connection((vip, port), 60) as tcp:
        tcp.sendall(f"{word} {size}\n".encode())
        if word == "get":
            digest, _ = receive(tcp, size)
        else:
            for piece in stream(size):
                tcp.sendall(piece)
            digest = tcp.recv(100).decode()
        return {"sha256": digest, "mss": tcp.getsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG), "pmtu": pmtu_of(tcp)}


def probe(kind, vip, port, ttl):
    family = family_of(vip)
    if kind == "icmp":
        protocol = socket.IPPROTO_ICMPV6 if family == socket.AF_INET6 else socket.IPPROTO_ICMP
        sock = socket.socket(family, socket.SOCK_DGRAM, protocol)
    else:
        sock = socket.socket(family, socket.SOCK_DGRAM if kind == "udp" else socket.SOCK_STREAM)
    with sock:
        sock.setsockopt(*RECVERR[family], 1)
        hops = (socket.IPPROTO_IPV6, socket.IPV6_UNICAST_HOPS) if family == socket.AF_INET6 else \
               (socket.IPPROTO_IP, socket.IP_TTL)
        sock.setsockopt(*hops, ttl)
        sock.setblocking(False)
        selector = selectors.PollSelector()
        sock.connect_ex((vip, port))
        if kind != "tcp":
            sock.send(struct.pack(">BBHHH", 128 if family == socket.AF_INET6 else 8, 0, 0, 1, 1) + bytes(20))
        selector.register(sock, selectors.EVENT_READ | (selectors.EVENT_WRITE if kind == "tcp" else 0))
        if not selector.select(1.5):
            return []
        error = error_from_queue(sock)
        if error:
            return error
        if kind == "tcp":
            return "answer" if sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == 0 else "refused"
        sock.recv(2000)
        return "answer"


def leave(vip, port):
    with socket.socket(family_of(vip), socket.SOCK_DGRAM) as udp:
        udp.connect((vip, port))
        udp.send(b"is anybody there")
        return udp.getsockname()[1]


def syn_template(vip, port):
    """(packet, sum of what the TCP checksum covers, offset of the source address, of the TCP header)"""
    family, target = family_of(vip), socket.inet_pton(family_of(vip), vip)
    source = socket.inet_pton(family, "2001:db8:f::" if family == socket.AF_INET6 else "198.18.0.0")
    tcp = struct.pack(">HHIIHHHH", 0, port, 1, 0, 5 << 12 | 2, 65535, 0, 0)
    covered = source + target + struct.pack(">HH", socket.IPPROTO_TCP, len(tcp)) + tcp
    if family == socket.AF_INET6:
        head = struct.pack(">IHBB", 6 << 28, len(tcp), socket.IPPROTO_TCP, 64)
    else:
        head = struct.pack(">BBHHHBBH", 0x45, 0, 40, 0, 0, 64, socket.IPPROTO_TCP, 0)
    return bytearray(head + source + target + tcp), checksum(covered) ^ 0xffff, len(head) + len(source) - 2


def flood(seconds, port, *vips):
    targets = [(socket.socket(family_of(vip), socket.SOCK_RAW, socket.IPPROTO_RAW), vip, *syn_template(vip, port))
               for vip in vips]
    end, count = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        for raw, vip, packet, covered, at in targets:
            for _ in range(50):
                source, source_port = random.randrange(1 << 16), random.randrange(1024, 1 << 16)
                tcp = len(packet) - 20
                total = covered + source + source_port
                while total >> 16:
                    total = (total & 0xffff) + (total >> 16)
                packet[at:at + 2], packet[tcp:tcp + 2] = source.to_bytes(2, "big"), source_port.to_bytes(2, "big")
                packet[tcp + 16:tcp + 18] = (total ^ 0xffff).to_bytes(2, "big")
                raw.sendto(packet, (vip, 0))
            count += 50
    return count


def number(word):
    return int(word) if word.isdigit() else word


if __name__ == "__main__":
    name, *words = map(number, sys.argv[1:])
    command = {"echo": echo, "fragments": fragments, "hold": hold, "get": lambda *rest: transfer("get", *rest),
               "put": lambda *rest: transfer("put", *rest), "probe": probe, "leave": leave, "flood": flood}[name]
    print(json.dumps(command(*words)))
