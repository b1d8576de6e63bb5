# SPDX-License-Identifier: MIT
"""`fairlead backend setup | check | remove` on a host of its own."""
import json

import pytest

from lab.fleet import PROGRAM, VIPS

SNAPSHOT = """
ip -o addr; ip -o link | sed 's/ qdisc.*//'; find /run; mount | grep ' /sys'
find /sys/fs/bpf -mindepth 1 -not -name '*.debug'
sysctl -a 2>/dev/null | grep -E 'net.ipv4.conf.*(arp_|rp_filter)'
"""


@pytest.fixture
def host(lab):
    """A host with eth0 whose cable leads to a peer, and strict reverse path filtering."""
    made, peer = lab.host("backend"), lab.host("peer")
    lab.cable(made, "eth0", peer, "eth0", 2000)
    made.sysctl(net__ipv4__conf__all__rp_filter=1)
    made.ip("addr add 10.3.1.2/24 dev eth0")
    return made


def backend(host, *words, enter=()):
    return host.run(*enter, PROGRAM, "backend", *words, check=False)


def set_up(host, *words):
    done = backend(host, "setup", "--vip", VIPS[0], "--vip", VIPS[1], *words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def state_of(host):
    return host.run("sh", "-c", SNAPSHOT).stdout


def addresses_of_lo(host):
    return {entry["local"] for entry in json.loads(host.run("ip", "-j", "addr", "show", "lo").stdout)[0]["addr_info"]}


def sysctl(host, name):
    return host.run("sysctl", "-n", name).stdout.strip()


def wrong(host, *words):
    done = backend(host, "check", "--json", *words)
    report = json.loads(done.stdout)
    names = [check["name"] for check in report["checks"] if not check["ok"]]
    assert done.returncode == (1 if names else 0)
    assert report["ok"] == (not names)
    assert all(check["remedy"] for check in report["checks"] if not check["ok"])
    return names


def error_line(done):
    assert done.returncode == 1
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    assert len(lines) == 1, lines
    return lines[0]


def test_setup_makes_a_backend_and_remove_restores_everything(host):
    before = state_of(host)
    assert "native mode" in set_up(host)
    assert addresses_of_lo(host) >= set(VIPS)
    assert sysctl(host, "net.ipv4.conf.all.arp_ignore") == "1"
    assert sysctl(host, "net.ipv4.conf.all.arp_announce") == "2"
    assert sysctl(host, "net.ipv4.conf.eth0.rp_filter") == "2"
    assert wrong(host) == []
    assert backend(host, "remove").returncode == 0
    assert state_of(host) == before


def test_setup_may_be_repeated_and_still_everything_is_restored(host):
    before = state_of(host)
    set_up(host)
    once = state_of(host)
    assert "nothing to change" in set_up(host)
    assert [line for line in state_of(host).splitlines() if "xdp" not in line] == \
           [line for line in once.splitlines() if "xdp" not in line]
    assert wrong(host) == []
    backend(host, "remove")
    assert state_of(host) == before
    assert "nothing to remove" in backend(host, "remove").stdout


def test_giving_up_a_vip_on_a_host_that_was_never_set_up_changes_nothing(host):
    before = state_of(host)
    done = backend(host, "remove", "--vip", VIPS[0])
    assert (done.returncode, done.stdout) == (0, f"{VIPS[0]} was not set up\n"), done.stderr
    assert state_of(host) == before
    set_up(host)
    assert wrong(host) == []


@pytest.mark.parametrize("pin", ["packets", "link"])
def test_what_cannot_be_opened_in_the_place_of_a_pin_is_not_taken_for_a_missing_one(host, pin):
    host.run("mkdir", "-p", f"/sys/fs/bpf/fairlead-backend/{pin}")
    assert f"/sys/fs/bpf/fairlead-backend/{pin}: " in error_line(backend(host, "setup", "--vip", VIPS[0]))
    assert not addresses_of_lo(host) & set(VIPS)


def test_check_finds_each_broken_link_and_setup_repairs_it(host):
    assert wrong(host) == ["program", "VIPs"]
    set_up(host)
    for command, name in (
            (f"ip addr del {VIPS[0]}/32 dev lo", VIPS[0]),
            (f"ip addr del {VIPS[1]}/128 dev lo", VIPS[1]),
            ("sysctl -qw net.ipv4.conf.all.arp_ignore=0", "net.ipv4.conf.all.arp_ignore"),
            ("sysctl -qw net.ipv4.conf.all.arp_announce=0", "net.ipv4.conf.all.arp_announce"),
            ("sysctl -qw net.ipv4.conf.eth0.rp_filter=1", "net.ipv4.conf.eth0.rp_filter"),
            ("rm /sys/fs/bpf/fairlead-backend/link", "program")):
        host.run("sh", "-c", command)
        assert wrong(host) == [name], command
        set_up(host)
        assert wrong(host) == [], command
    host.ip("link set lo down")
    assert "lo" in wrong(host)


def test_check_prints_every_link_for_people(host):
    set_up(host)
    host.sysctl(net__ipv4__conf__all__arp_ignore=0)
    done = backend(host, "check")
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert any(line.startswith("ok") and "attached to eth0 in native mode" in line for line in lines)
    assert any(line.startswith("wrong") and "arp_ignore" in line for line in lines)
    assert any("packets: 0 decapsulated" in line for line in lines)
    assert any(line.startswith("to do: run `fairlead backend setup") for line in lines)


def test_check_of_a_vip_that_was_not_set_up_says_so(host):
    set_up(host)
    assert wrong(host, "--vip", "198.51.100.11") == ["198.51.100.11"]


def test_a_further_vip_is_added_and_one_can_be_given_up(host):
    set_up(host)
    assert backend(host, "setup", "--vip", "198.51.100.11").returncode == 0
    assert addresses_of_lo(host) >= {*VIPS, "198.51.100.11"}
    assert backend(host, "remove", "--vip", VIPS[0]).returncode == 0
    assert VIPS[0] not in addresses_of_lo(host)
    assert wrong(host) == []
    assert wrong(host, "--vip", VIPS[0]) == [VIPS[0]]


def test_what_was_there_before_stays_after_remove(host):
    host.ip(f"addr add {VIPS[0]}/32 dev lo")
    host.sysctl(net__ipv4__conf__all__arp_announce=2)
    set_up(host)
    backend(host, "remove")
    assert VIPS[0] in addresses_of_lo(host) and VIPS[1] not in addresses_of_lo(host)
    assert sysctl(host, "net.ipv4.conf.all.arp_announce") == "2"


def test_a_setting_that_somebody_else_changed_meanwhile_is_left_alone(host):
    set_up(host)
    host.sysctl(net__ipv4__conf__all__arp_ignore=2)
    assert "left net.ipv4.conf.all.arp_ignore at 2" in backend(host, "remove").stdout
    assert sysctl(host, "net.ipv4.conf.all.arp_ignore") == "2"


def test_an_interface_whose_driver_has_no_xdp_works_in_generic_mode_and_says_so(host):
    host.ip("link add br0 type bridge", "link set br0 up")
    said = set_up(host, "--interface", "br0")
    assert "br0: generic mode" in said and "refuses XDP" in said
    assert wrong(host) == []
    assert "in generic mode" in backend(host, "check").stdout
    backend(host, "remove")


def test_a_bpffs_is_mounted_where_there_is_none_and_unmounted_again(host):
    host.run("umount", "/sys/fs/bpf")
    before = host.run("sh", "-c", "mount | grep ' /sys'").stdout
    assert "mounted a bpffs" in set_up(host)
    assert wrong(host) == []
    backend(host, "remove")
    assert host.run("sh", "-c", "mount | grep ' /sys'").stdout == before


def test_an_interface_that_does_not_exist_is_one_line_with_a_remedy_and_changes_nothing(host):
    before = state_of(host)
    line = error_line(backend(host, "setup", "--vip", VIPS[0], "--interface", "eth7"))
    assert "eth7: does not exist" in line and "ip link" in line
    assert state_of(host) == before


def test_another_xdp_program_on_the_interface_is_one_line_with_a_remedy_and_changes_nothing(host):
    host.ip(f"link set dev eth0 xdpdrv obj {PROGRAM.parent / 'bpf/pass.bpf.o'} sec xdp.frags")
    before = state_of(host)
    line = error_line(backend(host, "setup", "--vip", VIPS[0]))
    assert "has XDP program" in line
    assert state_of(host) == before
    remedy = line.split("`")[1]
    assert remedy == "ip link set dev eth0 xdp off"
    host.ip(remedy.removeprefix("ip "))
    set_up(host)


def test_a_full_disk_leaves_no_half_list_of_changes_behind(host):
    host.run("sh", "-c", "mkdir -p /run/fairlead-backend && mount -t tmpfs -o size=4k full /run/fairlead-backend "
                         "&& head -c 4096 /dev/zero > /run/fairlead-backend/filler")
    line = error_line(backend(host, "setup", "--vip", VIPS[0]))
    assert "/run/fairlead-backend/changes" in line and "is there room" in line
    assert host.run("ls", "/run/fairlead-backend").stdout == "filler\n"
    host.run("umount", "/run/fairlead-backend")


def test_another_interface_than_before_is_refused_until_remove(host):
    set_up(host)
    host.ip("link add br0 type bridge")
    line = error_line(backend(host, "setup", "--vip", VIPS[0], "--interface", "br0"))
    assert "fairlead backend remove" in line


def test_without_root_it_is_one_line_with_a_remedy(host):
    nobody = ("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups")
    for words in (("setup", "--vip", VIPS[0]), ("check",), ("remove",)):
        assert "root" in error_line(backend(host, *words, enter=nobody))


@pytest.mark.parametrize("words", [["setup"], ["setup", "--vip", "198.51.100.0/24"], ["setup", "--vip", "web"],
                                   ["setup", "--vip", "127.0.0.1"], ["check", "--vips"], ["undo"], []])
def test_wrong_usage_ends_with_status_2(host, words):
    assert backend(host, *words).returncode == 2
