# SPDX-License-Identifier: MIT
"""Runs `fairlead replay` and compares what two engines made of the same frames."""
import json
import os
import shlex
import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from kit import pcap

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = shlex.split(os.environ.get("FAIRLEAD") or str(ROOT / "build/release/fairlead"))
FILES = ("out.pcap", "passed.pcap", "verdicts.jsonl")


@dataclass
class Run:
    folder: Path

    def bytes(self, name):
        return (self.folder / name).read_bytes()

    def frames(self, name):
        return [frame for _, frame in pcap.read(self.folder / name)]

    def lines(self):
        """By frame: a fragment that waits for its first one has its line later than others."""
        lines = [json.loads(line) for line in (self.folder / "verdicts.jsonl").read_text().splitlines()]
        return sorted(lines, key=lambda line: line["frame"])

    def reasons(self):
        return Counter(line["reason"] for line in self.lines())


def replay(folder, config, source, engine, args=()):
    """`source`: a capture's path. The configuration is written into a new folder below `folder`."""
    place = folder / engine
    place.mkdir(parents=True)
    config.write(place)
    command = [*PROGRAM, "replay", "-c", str(place / "node.toml"), "--in", str(source),
               "--out", str(place / FILES[0]), "--passed", str(place / FILES[1]), "--json", str(place / FILES[2]),
               "--engine", engine, *args]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, f"{shlex.join(command)}\nexit status {done.returncode}\n{done.stderr}"
    return Run(place)


def agree(folder, config, frames, args=()):
    """Both engines on the same frames, [(microseconds, bytes)] or a capture's path; the run of one of them."""
    source = frames
    if not isinstance(frames, Path):
        source = folder / "in.pcap"
        folder.mkdir(parents=True, exist_ok=True)
        pcap.write(source, frames)
    user, xdp = (replay(folder, config, source, engine, args) for engine in ("user", "xdp"))
    if any(user.bytes(name) != xdp.bytes(name) for name in FILES):
        raise AssertionError(f"the engines differ on {source}\n{difference(user, xdp, source)}")
    return user


def difference(user, xdp, source):
    """The first frame on which two runs differ, with all that is known of it."""
    sent = [frame for _, frame in pcap.read(source)]
    ours, theirs = user.lines(), xdp.lines()
    left, right = user.frames("out.pcap"), xdp.frames("out.pcap")
    for number, frame in enumerate(sent):
        a = ours[number] if number < len(ours) else {}
        b = theirs[number] if number < len(theirs) else {}
        out_a = [left[n - 1].hex() for n in a.get("out", [])]
        out_b = [right[n - 1].hex() for n in b.get("out", [])]
        if a != b or out_a != out_b:
            return (f"frame {number + 1}: {frame.hex()}\n"
                    f"user: {json.dumps(a)}\n      {out_a}\nxdp:  {json.dumps(b)}\n      {out_b}")
    return "every frame is the same: the files differ in something else (order, times, frames that passed)"
