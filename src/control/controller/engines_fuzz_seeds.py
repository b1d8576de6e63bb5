#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Writes the conformance kit's cases and the captures of tests/pcaps as seeds for engines_fuzz: engines_fuzz_seeds.py
FOLDER. Frames follow each other as they do there."""
import hashlib
import struct
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests/conformance"))

from kit import pcap   # noqa: E402
from kit.case import CASES, load   # noqa: E402

STEPS = 64           # the fuzzer takes no more of one input


def seed_of(frames):
    """frames: (seconds since the first, bytes)"""
    out, before = b"", 0
    for number, (at, frame) in enumerate(frames[:STEPS]):
        ticks = round((at - before) * 10)
        time = 0 if ticks < 1 else 1 if ticks < 30 else 2 if ticks < 400 else 3
        out += struct.pack("<BBH", time | number % 2 << 2, number & 0xff, len(frame) & 0xffff) + frame[:0xffff]
        before = at
    return out


def timed(send):
    return [one if isinstance(one, tuple) else (0.001 * number, one) for number, one in enumerate(send)]


def captures():
    for path in sorted((ROOT / "tests/pcaps").glob("*/*.pcap")):
        if pcap.whole(path):
            frames = list(pcap.read(path))
            first = frames[0][0] if frames else 0
            yield [((at - first) / 1e6, frame) for at, frame in frames]


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    load([ROOT / "tests/conformance/cases"])
    lists = [timed(case.send) for case in CASES if case.send] + list(captures())
    for frames in lists:
        for begin in range(0, min(len(frames), 4 * STEPS), STEPS):
            seed = seed_of(frames[begin:begin + STEPS])
            if len(seed) < 100_000:
                (folder / hashlib.sha256(seed).hexdigest()[:16]).write_bytes(seed)


main()
