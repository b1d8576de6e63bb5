# SPDX-License-Identifier: MIT
"""The core in process and the BPF program in the kernel's test run: the same bytes, verdicts and JSON lines."""
import corpora
import pytest
from corpora import START, TEN, at_times
from kit import pcap
from kit.packets import VIP, tcp, udp
from replays import agree, difference, replay

SMALL = {"connection_table_size": 1024}


def test_a_difference_would_be_seen_and_named(tmp_path):
    frames = at_times(corpora.samples())
    pcap.write(tmp_path / "in.pcap", frames)
    one = replay(tmp_path / "one", corpora.mixed(), tmp_path / "in.pcap", "user")
    other = replay(tmp_path / "other", corpora.mixed(hash_seed="0x1"), tmp_path / "in.pcap", "xdp")
    assert one.bytes("out.pcap") != other.bytes("out.pcap")
    story = difference(one, other, tmp_path / "in.pcap")
    assert story.startswith("frame 1: ") or story.startswith("frame 2: "), story
    assert "user: {" in story and "xdp:  {" in story


def test_all_captures_one_behind_the_other(tmp_path):
    run = agree(tmp_path, corpora.everything(), at_times(corpora.of_captures()))
    reasons = run.reasons()
    assert {"new", "known", "hashed", "malformed", "fragment_no_mapping", "icmp_unsupported", "not_ip"} <= set(reasons)
    assert reasons["known"] > 200 and reasons["not_vip"] < 10, reasons


@pytest.mark.parametrize("path", corpora.captures(), ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_capture_with_its_own_times(path, tmp_path):
    agree(tmp_path, corpora.everything(), path)


@pytest.mark.parametrize("config", [corpora.everything, corpora.mixed], ids=lambda make: make.__name__)
def test_one_packet_of_every_kind(config, tmp_path):
    run = agree(tmp_path, config(), at_times(corpora.samples() * 3))
    assert {"new", "known", "malformed", "fragment_tiny", "fragment", "fragment_no_mapping", "echo", "icmp_error",
            "icmp_no_flow", "not_ip"} <= set(run.reasons())


@pytest.mark.parametrize("config", [corpora.everything, corpora.mixed], ids=lambda make: make.__name__)
def test_every_length_at_which_a_packet_can_be_cut(config, tmp_path):
    frames = [frame[:size] for frame in corpora.samples() if len(frame) < 400 for size in range(len(frame) + 1)]
    run = agree(tmp_path, config(), at_times(frames))
    assert {"malformed", "not_ip", "not_vip"} <= set(run.reasons())


@pytest.mark.parametrize("config", [corpora.everything, corpora.mixed], ids=lambda make: make.__name__)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_valid_packets_with_something_changed(seed, config, tmp_path):
    run = agree(tmp_path, config(), at_times(corpora.mutated(seed, 20_000)))
    assert len(run.reasons()) >= 8, run.reasons()


@pytest.mark.parametrize("seed", [1, 2])
def test_conversations_over_minutes(seed, tmp_path):
    run = agree(tmp_path, corpora.mixed(), corpora.conversations(seed, 1500))
    assert {"new", "known", "hashed"} <= set(run.reasons())
    assert {line.get("state") for line in run.lines()} >= {"handshake", "established", "closing", "udp"}


def test_conversations_while_backends_come_and_go(tmp_path):
    changes = []
    for n, address in enumerate(TEN):
        changes += ["--down", f"{address}@{3 + 7 * n}", "--up", f"{address}@{12 + 9 * n}"]
    changes += ["--draining", f"{TEN[3]}@50", "--draining", "2001:db8:b::1@20"]
    other = tmp_path / "later.json"
    other.write_text(corpora.everything().services())
    run = agree(tmp_path, corpora.mixed(), corpora.conversations(3, 1500),
                [*changes, "--services", f"{other}@70"])
    assert {"new", "known", "repinned", "hashed"} <= set(run.reasons())


@pytest.mark.parametrize("step", [10, 2000], ids=["at_once", "over_a_while"])
def test_more_connections_than_the_table_takes(step, tmp_path):
    """Both evict the same entries, so that even `hashed` and `new` agree."""
    run = agree(tmp_path, corpora.mixed(**SMALL), at_times(corpora.crowd(5, 4000), step))
    assert run.reasons()["known"] > 500
    assert run.reasons()["hashed"] > 100, "the table was never full"


def test_several_workers(tmp_path):
    run = agree(tmp_path, corpora.mixed(**SMALL), corpora.conversations(6, 800), ["--workers", "3"])
    assert {line["worker"] for line in run.lines()} == {0, 1, 2}


def test_no_backend_up(tmp_path):
    down = [word for address in [*TEN, *corpora.SIX] for word in ("--down", address)]
    run = agree(tmp_path, corpora.mixed(), at_times(corpora.samples()), down)
    assert run.reasons()["no_backend"] > 20


def test_frames_of_every_size_up_to_the_largest_packet(tmp_path):
    sizes = [*range(1380, 1600, 7), 3000, 3500, 3520, 4000, 8900, 9000, 16_000, 40_000, 65_000]
    frames = [udp(b"x" * size, dst=VIP, sport=1024 + n) for n, size in enumerate(sizes)]
    frames += [tcp("A", payload=b"x" * size, v6=True, sport=1024 + n) for n, size in enumerate(sizes)]
    agree(tmp_path, corpora.mixed(network_mtu=9000), at_times(frames))


def test_times_that_go_back_and_jump(tmp_path):
    frames = corpora.conversations(8, 200)
    jumps = [(time - 30_000_000 if n % 7 == 3 else time + 500_000_000 * (n % 50 == 49), frame)
             for n, (time, frame) in enumerate(frames)]
    agree(tmp_path, corpora.mixed(), [(START, frames[0][1]), *jumps])
