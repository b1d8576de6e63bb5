# SPDX-License-Identifier: MIT
"""Hosts of a lab, their cables and their processes.

A host is a set of namespaces (network, mounts, host name) that one sleeping process keeps alive. It has a
/sys, a bpffs and a /run of its own, so that programs in it find nothing of the machine's or of another
host's, and may use their default paths. Nothing has a name on the machine that could collide, and
everything a host has (devices, pins, mounts) is gone when its processes are: they all die with the process
that made the lab, even when that is killed.

One thread makes the lab and starts its processes: Linux ends them when that *thread* ends.
"""
import ctypes
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None, use_errno=True)

# A new mount of sysfs shows the devices of the new network namespace; the bpffs must lie over it. Without
# duplicate address detection, IPv6 works from the first packet on.
BECOME_HOST = """
mount -t sysfs sysfs /sys && mount -t bpf bpf /sys/fs/bpf && mount -t tmpfs tmpfs /run && hostname "$1" &&
sysctl -qw net.ipv6.conf.default.accept_dad=0 net.ipv6.conf.default.dad_transmits=0 &&
ip link set lo up && echo ready && exec sleep infinity
"""


class LabError(Exception):
    """What went wrong while a lab was built or used, in one line."""


def die_with_parent():
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Process:
    """A program that runs in a host; what it writes goes to a file."""

    def __init__(self, name, argv, log, **popen):
        self.name, self.log = name, Path(log)
        with self.log.open("ab") as log:
            # Its own session: Ctrl-C is for the lab, which then ends its processes in order.
            self.popen = subprocess.Popen(argv, stdin=subprocess.DEVNULL, start_new_session=True,
                                          preexec_fn=die_with_parent, **{"stdout": log, "stderr": log, **popen})
        self.pid = self.popen.pid

    @property
    def running(self):
        return self.popen.poll() is None

    def stop(self, patience=10):
        """SIGTERM, and SIGKILL when that does not help. Returns the exit status."""
        if self.running:
            self.popen.terminate()
            try:
                return self.popen.wait(patience)
            except subprocess.TimeoutExpired:
                self.kill()
        return self.popen.returncode

    def kill(self):
        if self.running:
            self.popen.kill()
        return self.popen.wait(10)

    def output(self):
        return self.log.read_text(errors="replace")

    def expect_running(self):
        if not self.running:
            last = self.output().strip().splitlines()[-1:] or ["(no output)"]
            raise LabError(f"{self.name} ended with status {self.popen.returncode}: {last[0]}")


class Host:
    def __init__(self, lab, name):
        self.lab, self.name, self.processes = lab, name, []
        self.keeper = subprocess.Popen(
            ["unshare", "--net", "--mount", "--uts", "--propagation", "private", "sh", "-c", BECOME_HOST, "sh", name],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            start_new_session=True, preexec_fn=die_with_parent)
        if self.keeper.stdout.readline().strip() != "ready":
            self.keeper.kill()
            raise LabError(f"cannot make host {name}: {self.keeper.communicate()[1].strip()}")

    def enter(self, *argv):
        """The command line that runs `argv` in this host. It becomes that program: same process id."""
        return ["nsenter", "--target", str(self.keeper.pid), "--net", "--mount", "--uts", *map(str, argv)]

    def run(self, *argv, check=True, timeout=20, **more):
        """Runs a command to its end; its output as text in .stdout and .stderr."""
        done = subprocess.run(self.enter(*argv), capture_output=True, text=True, timeout=timeout, **more)
        if check and done.returncode != 0:
            raise LabError(f"{self.name}: {' '.join(map(str, argv))}: {done.stderr.strip() or done.stdout.strip()}")
        return done

    def ip(self, *lines):
        """Each line is one command of ip(8)."""
        self.run("ip", "-batch", "-", input="\n".join(lines) + "\n")

    def sysctl(self, **settings):
        """Keyword names use "__" for the dots: net__ipv4__ip_forward=1."""
        self.run("sysctl", "-qw", *(f"{name.replace('__', '.')}={value}" for name, value in settings.items()))

    def start(self, name, *argv, **popen):
        process = Process(f"{self.name}: {name}", self.enter(*argv), self.lab.folder / f"{self.name}-{name}.log",
                          **popen)
        self.processes.append(process)
        return process

    def close(self):
        for process in reversed(self.processes):
            process.stop(3)
        self.keeper.kill()
        self.keeper.communicate()


class Lab:
    """Makes hosts and cables; `with Lab() as lab:` ends them, whatever happens."""

    def __init__(self):
        if os.geteuid() != 0:
            raise LabError("network namespaces need root: run it with sudo")
        remove_stale_folders()
        self.folder = Path(tempfile.mkdtemp(prefix=f"fairlead-lab-{os.getpid()}-"))
        self.hosts = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        while self.hosts:
            self.hosts.pop().close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def host(self, name):
        self.hosts.append(Host(self, name))
        return self.hosts[-1]

    def cable(self, a, a_interface, b, b_interface, mtu=1500, queues=1):
        """A veth pair, up at both ends. XDP wants as many receive queues as the peer has transmit queues."""
        number = f"numrxqueues {queues} numtxqueues {queues} mtu {mtu}"
        a.ip(f"link add {a_interface} {number} type veth peer name {b_interface} {number} netns {b.keeper.pid}",
             f"link set {a_interface} up")
        b.ip(f"link set {b_interface} up")


def remove_stale_folders():
    """Logs of labs whose process was killed. Their hosts died with it."""
    for folder in Path(tempfile.gettempdir()).glob("fairlead-lab-*"):
        owner = re.match(r"fairlead-lab-(\d+)-", folder.name)
        if owner and not Path(f"/proc/{owner[1]}").exists():
            shutil.rmtree(folder, ignore_errors=True)


def wait_until(condition, what, seconds=10.0, pause=0.05):
    """Polls until `condition()` is true and returns that value; a LabError that says `what` otherwise."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise LabError(f"{what}: not within {seconds:g} s")
        time.sleep(pause)
