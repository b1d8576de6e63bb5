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
    exchange(tmp_path, engine, make(connection_ttls=TTLS), frames())


@pytest.mark.parametrize("engine", ["xdp", "user"])
def test_generic_mode_carries_the_same(engine, tmp_path):
    exchange(tmp_path, engine, corpora.mixed(connection_ttls=TTLS, xdp_mode="generic"), corpora.samples() * 2)


def exchange(folder, engine, config, frames):
    frames = to_the_node(frames)
    pcap.write(folder / "in.pcap", at_times(frames, 1))
    expected = replay(folder, config, folder / "in.pcap", engine)
    with Lab() as lab:
        wire = Wire(lab, engine, config)
        wire.exchange(frames, expected.lines())
        same("frames that come back", wire.back.frames, expected.frames("out.pcap"))
        same("frames for the host's stack", wire.passed.frames, expected.frames("passed.pcap"))
        counted = wire.reasons()
    want = Counter((line["verdict"], line["reason"]) for line in expected.lines())
    if engine == "user":
        # What is for no VIP does not come to the engine: the stub in the driver lets it pass.
        want = {key: count for key, count in want.items() if key[0] != "pass"}
        counted = {key: count for key, count in counted.items() if key[0] != "pass"}
    assert counted == want


def same(what, got, want):
    for number, (a, b) in enumerate(zip(got, want), 1):
        if a != b:
            pytest.fail(f"{what}: number {number} differs\ngot  {a.hex()}\nwant {b.hex()}", pytrace=False)
    if len(got) != len(want):
        next_one = max(got, want, key=len)[min(len(got), len(want))]
        pytest.fail(f"{what}: {len(got)} instead of {len(want)}; the next: {next_one.hex()}", pytrace=False)
