#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Writes the small frames of all captures in tests/pcaps as seeds for path_fuzz: path_fuzz_seeds.py FOLDER"""
import hashlib
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/conformance"))

from kit import pcap   # noqa: E402

MOST = 400           # bytes of a frame; larger ones only slow the fuzzer down
ROOM, WORLD = 48, 0b00111111           # room for every tunnel, all backends usable


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for path in sorted((ROOT / "tests/pcaps").glob("*/*.pcap")):
        if not pcap.whole(path):
            continue
        for _, frame in pcap.read(path):
            if len(frame) <= MOST:
                seed = bytes([ROOM, WORLD]) + frame
                (folder / hashlib.sha256(seed).hexdigest()[:16]).write_bytes(seed)


main()
