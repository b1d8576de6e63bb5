# SPDX-License-Identifier: MIT
"""`fairlead replay` as a command: its streams."""
import json
import struct

import pytest

FRAME = bytes.fromhex("02000000000b" "02000000000a" "0800") + bytes(46)     # no IP header: for the host


@pytest.fixture
def capture(files):
    head = struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1)
    (files.folder / "in.pcap").write_bytes(head + 3 * (struct.pack("<IIII", 0, 0, len(FRAME), len(FRAME)) + FRAME))
    return ("replay", "-c", "node.toml", "--in", "in.pcap", "--out", "out.pcap")


@pytest.mark.parametrize("name", ["-", "/dev/stdout"])
def test_json_on_standard_output_is_written_behind_what_is_there(files, capture, name):
    with (files.folder / "lines").open("a") as lines:
        lines.write("kept\n")
        lines.flush()
        done = files.run(*capture, "--json", name, stdout=lines, capture_output=False)
    assert done.returncode == 0
    kept, *rest = (files.folder / "lines").read_text().splitlines()
    assert kept == "kept"
    assert len(rest) == 3 and all("verdict" in json.loads(line) for line in rest)


def test_json_goes_through_a_pipe(files, capture):
    done = files.run(*capture, "--json", "-")
    assert done.returncode == 0, done.stderr
    assert [json.loads(line)["verdict"] for line in done.stdout.splitlines()] == 3 * ["pass"]


def test_a_full_standard_output_is_an_error(files, capture):
    with open("/dev/full", "w") as full:
        done = files.run(*capture, "--json", "-", stdout=full, stderr=-1, capture_output=False)
    assert done.returncode == 1
    assert "cannot be written" in done.stderr


def test_a_warning_of_what_is_not_done_does_not_mix_with_the_lines(files, capture):
    files.write(forwarder='layout = "pipeline"')
    done = files.run(*capture, "--json", "-")
    assert done.returncode == 0
    assert "warning: forwarder.layout" in done.stderr
    assert all(json.loads(line) for line in done.stdout.splitlines())
