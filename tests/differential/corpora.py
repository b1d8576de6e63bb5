# SPDX-License-Identifier: MIT
"""Frames to send and the configurations they meet. Random frames come from a seed, which names them for good."""
import random
from pathlib import Path

from kit import pcap
from kit.config import any_service, backend, net, pool, tcp_service, udp_service, vip
from kit.packets import (CLIENT, CLIENT6, NODE, NODE6, VIP, VIP6, authentication, destination_options, ether, flows,
                         fragment_header, fragments, hop_by_hop, icmp, icmp_error, mss, other, padded, ping, routing,
                         tcp, udp, vlan)

PCAPS = Path(__file__).resolve().parents[1] / "pcaps"
START = 1_700_000_000_000_000            # microseconds
TEN = [f"10.0.0.{n}" for n in range(1, 11)]
SIX = [f"2001:db8:b::{n}" for n in range(1, 6)]
PREFIX_VIP, PREFIX_VIP6 = "198.18.0.0/15", "2001:db8:200::/48"


# --- configurations -------------------------------------------------------------------------------------------------

def everything(**forwarder):
    """Prefixes so wide that nearly every packet is for a VIP, over backends of both families."""
    def services(to):
        return tcp_service(0, to), udp_service(0, to), any_service(to)
    return net(*[vip(prefix, *services("four")) for prefix in ("0.0.0.0/1", "128.0.0.0/1")],
               *[vip(prefix, *services("six")) for prefix in ("::/1", "8000::/1")],
               pool("four", *TEN[:5], *SIX, table_size=1021), pool("six", *SIX, *TEN[:2], table_size=1021),
               **forwarder)


def mixed(**forwarder):
    """A service of every kind: exact ports, any port, any protocol, prefixes, affinity, weights, a draining backend,
    no backend, and rows for other VIPs around them."""
    return net(vip(VIP, tcp_service(80, "web"), tcp_service(443, "weights"), udp_service(53, "dns"),
                   any_service("rest"), name="v4"),
               vip(VIP6, tcp_service(80, "web"), udp_service(53, "dns"), tcp_service(443, "empty"), name="v6"),
               vip(PREFIX_VIP, tcp_service(0, "web", affinity="client_ip"), udp_service(53, "dns"), name="prefix4"),
               vip(PREFIX_VIP6, any_service("rest"), name="prefix6"),
               *[vip(f"198.51.100.{n}", tcp_service(80, "web"), tcp_service(443, "weights")) for n in range(20, 80)],
               pool("web", *TEN, table_size=1021), pool("dns", *TEN[:4], *SIX[:2], table_size=251),
               pool("weights", *[backend(ip, weight=n) for n, ip in enumerate(TEN[:6])], table_size=1021),
               pool("rest", *SIX, TEN[0], backend(TEN[1], state="draining"), table_size=251),
               pool("empty", backend(TEN[0], state="draining")), **forwarder)


# --- frames -----------------------------------------------------------------------------------------------------------

def captures():
    return [path for path in sorted(PCAPS.glob("*/*.pcap")) if pcap.whole(path)]


def of_captures():
    """The frames of all captures, one behind the other in time."""
    return [frame for path in captures() for _, frame in pcap.read(path)]


def at_times(frames, step=1000):
    return [(START + n * step, frame) for n, frame in enumerate(frames)]


def to_prefix(rng, v6=False):
    if v6:
        return f"2001:db8:200::{rng.randrange(1, 0xffff):x}"
    return f"198.{rng.randrange(18, 20)}.3.{rng.randrange(256)}"


def samples():
    """Valid packets of every kind that the path tells apart, and a few that are not."""
    rng = random.Random(7)
    chain = (hop_by_hop(), routing(), destination_options(1), authentication(), destination_options())
    whole = udp(b"f" * 1200)
    whole6 = udp(b"f" * 1200, v6=True)
    frames = [
        tcp("S"), tcp("S", v6=True), tcp("A", payload=b"x" * 100), tcp("A", v6=True, payload=b"x" * 100),
        tcp("F"), tcp("R", v6=True), tcp("SA"), tcp("FA", sport=9), tcp("S", dport=443), tcp("S", dport=443, v6=True),
        tcp("S", options=mss(1460)), tcp("A", ip=dict(options=b"\x07\x07\x04\0\0\0\0\0")), tcp("S", ip=dict(tos=0xb9)),
        tcp("S", v6=True, ip=dict(tc=0xb9, fl=0x12345)), tcp("S", dport=81), tcp("S", dport=81, v6=True),
        udp(b""), udp(b"hello"), udp(b"hello", v6=True), udp(b"x", dport=99), udp(b"x", no_checksum=True),
        other(132), other(132, v6=True), other(47, b""), other(59, b"", v6=True), other(50), ping(), ping(v6=True),
        icmp(135, 0, b"\0" * 20, v6=True), icmp(3, 4, b"\0\0\x05\x78" + b"q" * 40), icmp(200),
        icmp_error(3, 4, tcp("A", src=VIP, dst=CLIENT, sport=80, dport=40000), 8, mtu=1400),
        icmp_error(2, 0, tcp("A", src=VIP6, dst=CLIENT6, sport=80, dport=40000), 8, mtu=1400),
        *fragments(whole, 400), *fragments(whole6, 400), *fragments(tcp("S"), 8),
        tcp("S", v6=True, ext=(fragment_header(),)), tcp("S", v6=True, ext=chain),
        udp(b"e", v6=True, ext=(hop_by_hop(),)),
        tcp("S", v6=True, ext=(destination_options(),) * 8), tcp("S", v6=True, ext=(destination_options(),) * 9),
        tcp("S", dst=NODE), tcp("S", dst=NODE6), tcp("S", dst="8.8.8.8"), tcp("S", dst="2001:db8:dead::1"),
        ether(b"\0\1\x08\0\6\4\0\1" + b"\0" * 20, ethertype=0x0806), ether(b"\xaa" * 40, ethertype=0x88cc),
        tcp("S", payload=b"j" * 1460), udp(b"J" * 1472), b"", b"\x02" * 13, b"\x02" * 14,
    ]
    frames += [tcp("S", dst=to_prefix(rng), dport=rng.randrange(65536)) for _ in range(4)]
    frames += [udp(b"p", dst=to_prefix(rng, v6=True), dport=rng.randrange(65536)) for _ in range(4)]
    tagged = [vlan(frames[0], 42), vlan(frames[1], (0x88a8, 7), 42), vlan(frames[2], (0x88a8, 7)),
              vlan(frames[3], 1, 2, 3), vlan(padded(frames[4]), 4095)]
    return frames + tagged + [padded(frame, size) for frame in (frames[0], frames[16]) for size in (60, 61, 99)]


def conversations(seed, count):
    """Flows in which packets of every kind follow each other, interleaved, over some minutes."""
    rng = random.Random(seed)
    timed = []
    for n in range(count):
        v6, port = rng.random() < 0.4, 1024 + n
        dst = rng.choice([None, None, to_prefix(rng, v6)])
        now = rng.randrange(0, 90_000_000)
        for _ in range(rng.randrange(1, 9)):
            if rng.random() < 0.7:
                flags = rng.choice(["S", "A", "A", "A", "PA", "SA", "F", "FA", "R", "SE", ""])
                frame = tcp(flags, sport=port, dport=rng.choice([80, 80, 443]), v6=v6, dst=dst)
            else:
                frame = udp(b"d", sport=port, v6=v6, dst=dst)
            timed.append((START + now, frame if rng.random() < 0.9 else vlan(frame, n % 4096)))
            now += rng.choice([1000, 50_000, 99_000, 4_000_000, 5_050_000, 10_050_000, 31_000_000, 61_000_000])
    return sorted(timed, key=lambda item: item[0])


def crowd(seed, count):
    """More flows than the connection table takes, each with a SYN or a datagram and something later."""
    rng = random.Random(seed)
    first = [*flows(count, "syn", seed), *flows(count // 2, "udp", seed + 1, dport=53),
             *flows(count // 2, "ack", seed + 2, v6=True), *flows(count // 2, "udp", seed + 3, dport=53, v6=True)]
    second = [*flows(count, "ack", seed), *flows(count // 2, "udp", seed + 1, dport=53),
              *flows(count // 2, "ack", seed + 2, v6=True)]
    rng.shuffle(first), rng.shuffle(second)
    return first + second


# --- changing them at random ------------------------------------------------------------------------------------------

INTERESTING = (0, 1, 4, 5, 6, 8, 17, 20, 40, 41, 43, 44, 47, 51, 58, 60, 0x45, 0x46, 0x4f, 0x50, 0x60, 0x7f, 0x80, 0xff)


def mutated(seed, count):
    """Valid packets with something wrong: bytes, bits, lengths, header fields, cuts, doubled and added parts."""
    rng = random.Random(seed)
    base = [frame for frame in samples() + of_captures() if len(frame) <= 1600]
    return [mutate(rng, rng.choice(base)) for _ in range(count)]


def mutate(rng, frame):
    data = bytearray(frame)
    for _ in range(rng.choice((0, 1, 1, 1, 2, 2, 3, 5))):
        if not data:
            break
        at = rng.randrange(len(data))
        head = rng.randrange(12, min(len(data), 80)) if len(data) > 12 else at      # where the headers are
        kind = rng.randrange(9)
        if kind == 0:
            data[head] = rng.choice(INTERESTING)
        elif kind == 1:
            data[head] ^= 1 << rng.randrange(8)
        elif kind == 2:
            data[head] = (data[head] + rng.choice((-1, 1))) % 256
        elif kind == 3:
            data[at] = rng.randrange(256)
        elif kind == 4:
            del data[at:]
        elif kind == 5:
            data += bytes(rng.randrange(1, 40))
        elif kind == 6:
            data[12:12] = rng.choice((b"\x81\x00", b"\x88\xa8")) + rng.randbytes(2)
        elif kind == 7:
            del data[head:head + rng.choice((1, 4, 8))]
        else:
            data[head:head] = rng.randbytes(rng.choice((1, 4, 8)))
    return bytes(data)
