# SPDX-License-Identifier: MIT
"""What keeps the daemon from starting is said in one line, with the remedy, and the exit code is 1."""
import shutil

import pytest
from node import PROGRAM, pool, services


def refused(node, *argv):
    """The one line on stderr of a daemon that does not start; what went to the log before is JSON."""
    done = node.host.run(*(argv or (PROGRAM, "run", "-c", node.config)), check=False, timeout=20)
    assert done.returncode == 1, done.stderr
    lines = [line for line in done.stderr.splitlines() if not line.startswith("{")]
    assert len(lines) == 1, done.stderr
    return lines[0]


@pytest.mark.parametrize("engine", ["xdp", "user"])
def test_an_interface_that_does_not_exist(node, engine):
    node.engine = engine
    node.write(interface="eth7")
    line = refused(node)
    assert "interface eth7" in line and "does not exist" in line and "ip link" in line


@pytest.mark.parametrize("engine", ["xdp", "user"])
def test_no_permission(node, engine):
    node.engine = engine
    node.write()
    program = node.folder / "fairlead"
    shutil.copy(PROGRAM, program)
    node.folder.chmod(0o777)
    line = refused(node, "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all",
                   program, "run", "-c", node.config)
    assert "not permitted" in line and ("CAP_" in line or "root" in line)


def test_an_address_in_use(node):
    node.start()
    line = refused(node)
    assert str(node.socket) in line and "Address already in use" in line
    assert node.get("/readyz")[0] == 200, "the one that runs goes on"


def test_an_interface_that_another_daemon_forwards_on(node):
    node.start()
    node.write(http_at=node.folder / "other.sock")
    line = refused(node)
    assert "interface eth0: has XDP program " in line and "held by BPF link " in line
    assert "bpftool link detach id " in line
    node.write()
    assert node.get("/readyz")[0] == 200


def test_every_problem_of_both_files_at_once(node):
    node.write(forwarder="network_mut = 1500")
    wrong = services(pool(hosts=(1,)))
    wrong["pools"][0]["backends"][0]["ip"] = "10.0.0"
    wrong["vips"][0]["address"] = "nowhere"
    node.configure(wrong)
    done = node.run("run", "-c", node.config)
    assert done.returncode == 1
    for what in ("network_mut", "10.0.0", "nowhere"):
        assert what in done.stderr
    assert "network_mtu" in done.stderr, "the nearest known key is suggested"
    assert not node.socket.exists()


def test_a_missing_configuration_file(node):
    assert "does not exist" in refused(node, PROGRAM, "run", "-c", node.folder / "nothing.toml")


def test_wrong_usage(node):
    assert node.run("run", "--frobnicate").returncode == 2
