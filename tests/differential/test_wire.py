# SPDX-License-Identifier: MIT
"""Both engines as they run: frames go into a veth, and what comes back and what the host's stack gets must be what
replay makes of the same frames, byte for byte."""
from collections import Counter

import corpora
import pytest
from corpora import at_times
from kit import pcap
from kit.packets import NODE_MAC
from lab.host import Lab
from replays import replay
from wire import LARGEST, Wire

# Long enough that no connection ends while a slow machine sends.
TTLS = {name: "600s" for name in ("tcp_handshake", "tcp_established", "tcp_closing", "udp", "other")}
# Pings come faster here than in the replay's time.
QUICK = {"connection_ttls": TTLS, "icmp_rate_limit": 10000}
NODE = bytes.fromhex(NODE_MAC.replace(":", ""))


def to_the_node(frames):
    """As a switch would deliver them: to the MAC address of the node, no shorter and no longer than a cable takes.
    Linux throws away a tag with less than two bytes behind it before any socket sees the frame."""
    cut_tags = {frame for frame in frames if frame[12:14] in (b"\x81\x00", b"\x88\xa8") and len(frame) < 20}
    return [NODE + frame[6:] for frame in frames if 14 <= len(frame) <= LARGEST and frame not in cut_tags]


CORPORA = {
    "captures": (corpora.everything, corpora.of_captures),
    "samples": (corpora.mixed, lambda: corpora.samples() * 2),
    "conversations": (corpora.mixed, lambda: [frame for _, frame in corpora.conversations(4, 300)]),
    "changed": (corpora.everything, lambda: corpora.mutated(4, 3000)),
    "changed_mixed": (corpora.mixed, lambda: corpora.mutated(5, 3000)),
}


@pytest.mark.parametrize("engine", ["xdp", "user"])
@pytest.mark.parametrize("corpus", CORPORA)
def test_a_veth_carries_what_replay_writes(corpus, engine, tmp_path):
    make, frames = CORPORA[corpus]
    config, sent = make(**QUICK), to_the_node(frames())
    if corpus != "samples":
        sent = without_later_fragments(tmp_path, config, sent)
    exchange(tmp_path, engine, config, sent, in_order=corpus == "conversations")


@pytest.mark.parametrize("engine", ["xdp", "user"])
def test_generic_mode_carries_the_same(engine, tmp_path):
    exchange(tmp_path, engine, corpora.mixed(xdp_mode="generic", **QUICK), to_the_node(corpora.samples() * 2))


def without_later_fragments(folder, config, frames):
    """How long one waits for its first is a matter of milliseconds, which a cable does not keep as replay does. The
    samples have theirs close together."""
    pcap.write(folder / "all.pcap", at_times(frames, 1))
    lines = replay(folder / "all", config, folder / "all.pcap", "user").lines()
    return [frame for frame, line in zip(frames, lines) if line["reason"] not in ("fragment", "fragment_no_mapping")]


def exchange(folder, engine, config, frames, in_order=False):
    """What the slow path sends is overtaken by what came later, so that only conversations keep their order."""
    order = (lambda frames: frames) if in_order else sorted
    pcap.write(folder / "in.pcap", at_times(frames, 1))
    expected = replay(folder, config, folder / "in.pcap", engine)
    with Lab() as lab:
        wire = Wire(lab, engine, config)
        wire.exchange(frames, expected.lines())
        same("frames that come back", order(wire.back.frames), order(expected.frames("out.pcap")))
        same("frames for the host's stack", wire.passed.frames, expected.frames("passed.pcap"))
        counted = wire.reasons()
    want = Counter((line["verdict"], line["reason"]) for line in expected.lines())
    if engine == "user":
        # What is for no VIP does not come to the engine: the stub in the driver lets it pass.
        want = {key: count for key, count in want.items() if key[0] != "pass"}
        counted = {key: count for key, count in counted.items() if key[0] != "pass"}
    if not in_order:                       # which of two packets opened a connection is a matter of order, too
        counted, want = opened_or_known(counted), opened_or_known(want)
    assert counted == want


def opened_or_known(counts):
    merged = Counter()
    for (verdict, reason), count in counts.items():
        merged[verdict, "new or known" if reason in ("new", "known") else reason] += count
    return merged


def same(what, got, want):
    missing, surplus = Counter(want) - Counter(got), Counter(got) - Counter(want)
    if missing or surplus:
        pytest.fail(f"{what}: {len(got)}, expected {len(want)}\n"
                    + "\n".join(f"missing {count} x {frame.hex()}" for frame, count in missing.items()) + "\n"
                    + "\n".join(f"surplus {count} x {frame.hex()}" for frame, count in surplus.items()),
                    pytrace=False)
    for number, (a, b) in enumerate(zip(got, want), 1):
        if a != b:
            pytest.fail(f"{what}: number {number} differs\ngot  {a.hex()}\nwant {b.hex()}", pytrace=False)
