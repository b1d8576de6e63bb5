# SPDX-License-Identifier: MIT
"""The daemon while it runs."""
import json
import os
import signal
import time

import pytest
from lab.host import wait_until
from node import PROGRAM, VIP, pool, services

SEND = "import socket,sys; s=socket.socket(socket.AF_INET,socket.SOCK_DGRAM); " \
       "[s.sendto(b'x', (sys.argv[1], 7)) for _ in range(int(sys.argv[2]))]"


FLOWS = """
import socket, sys
for port in range(20000, 20100):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        udp.bind(("10.0.0.9", port))
        udp.sendto(b"x", (sys.argv[1], 7))
"""


def stop(node, number=signal.SIGTERM):
    node.daemon.popen.send_signal(number)
    return node.daemon.popen.wait(10)


def test_says_ready_once_it_forwards_and_stops_cleanly(each_engine):
    node = each_engine
    node.server(1)
    node.start()
    assert node.get("/healthz")[::2] == (200, "ok\n")
    assert node.get("/readyz")[::2] == (200, "ready\n")
    status = node.json("/v1/status")
    assert status["engine"]["name"] == node.engine
    assert status["engine"]["mode"] in ("native", "generic")
    assert status["engine"]["workers"] >= 1
    assert status["forwarding"] is True and status["generation"] == 1
    assert "xdp" in node.host.run("ip", "-details", "link", "show", "eth0").stdout
    assert f"engine {node.engine} on eth0: {status['engine']['mode']} XDP" in node.daemon.output()
    assert stop(node) == 0
    assert "STOPPING=1" in node.expect("STOPPING=1")
    assert "prog/xdp" not in node.host.run("ip", "-details", "link", "show", "eth0").stdout
    assert not node.socket.exists()


def test_counts_packets_of_the_vip_by_verdict_and_lets_the_rest_through(each_engine):
    node = each_engine
    node.server(1)
    udp = services(pool(hosts=(1,)))
    udp["vips"][0]["services"][0] |= {"protocol": "udp", "port": 7}
    node.configure(udp)
    node.start()
    node.far.run("python3", "-c", SEND, VIP, "50")
    wait_until(lambda: node.metric("fairlead_service_packets_total", vip="v", service="udp/7") == 50, "50 packets")
    assert node.metric("fairlead_backend_packets_total", pool="web", backend="10.0.0.1:80") == 50
    assert node.metric("fairlead_packets_total", verdict="forward", reason="new") == 1
    assert node.metric("fairlead_packets_total", verdict="forward", reason="known") == 49
    assert node.metric("fairlead_service_new_connections_total", vip="v", service="udp/7") == 1
    assert node.metric("fairlead_service_bytes_total", vip="v", service="udp/7") == 50 * 29
    node.far.run("ping", "-c", "1", "-W", "5", "10.0.0.254")
    if node.engine == "xdp":   # of the user engine the kernel keeps them, uncounted
        assert node.metric("fairlead_packets_total", verdict="pass", reason="not_vip") > 0


def test_finds_out_who_is_up_and_why_others_are_not(node):
    good, _ = node.server(1), node.server(2, status=503)
    node.configure(services(pool(hosts=(1, 2, 3))))
    node.start()
    known = node.wait_for_health(b1="up", b2="down", b3="down")
    assert known["10.0.0.2:80"]["reason"] == "status 503"
    assert known["10.0.0.3:80"]["reason"] == "refused"
    wait_until(lambda: node.backends()["10.0.0.1:80"]["slots"] == 251, "a table of the one that is up")
    assert node.metric("fairlead_backend_up", pool="web", backend="10.0.0.1:80") == 1
    assert node.metric("fairlead_backend_up", pool="web", backend="10.0.0.2:80") == 0
    assert node.metric("fairlead_health_checks_total", pool="web", result="status") >= 3
    assert "backend 10.0.0.2:80 of pool web is down: status 503" in node.daemon.output()

    node.far.start("server3", "python3", "-m", "http.server", "80", "--bind", "10.0.0.3",
                   cwd=node.folder)
    node.wait_for_health(b3="up")
    wait_until(lambda: 100 < node.backends()["10.0.0.3:80"]["slots"] < 150, "half of the table")
    good.stop()
    known = node.wait_for_health(b1="down")
    assert known["10.0.0.1:80"]["takes_new"] is False


def test_one_probe_serves_all_pools_that_ask_the_same(node):
    node.server(1)
    node.configure(services(pool("a", (1,)), pool("b", (1,))))
    node.start()
    node.wait_for_health(b1="up")
    first, second = (node.metric("fairlead_health_checks_total", pool=name, result="passed") for name in "ab")
    assert abs(first - second) <= 1, "each answer counts for both"
    time.sleep(2)
    later = node.metric("fairlead_health_checks_total", pool="a", result="passed")
    assert 1 <= later - first <= 14, "every 200 ms, not twice as often"


def test_takes_next_hops_from_the_kernel_and_says_why_there_is_none(node):
    node.server(1)
    node.configure(services(pool(hosts=(1, 77)), pool("far", (), backends=[{"ip": "192.0.2.1", "port": 80}])))
    node.start()
    far = json.loads(node.far.run("ip", "-j", "link", "show", "eth0").stdout)[0]["address"]
    wait_until(lambda: node.backends()["10.0.0.1:80"].get("next_hop") == far, "the MAC address of the far end")
    known = node.backends()
    assert known["192.0.2.1:80"]["no_next_hop"] == "no route to 192.0.2.1"
    assert known["10.0.0.77:80"]["takes_new"] is False
    wait_until(lambda: "10.0.0.77 " in node.backends()["10.0.0.77:80"]["no_next_hop"], "who does not answer")

    node.host.ip("route add 192.0.2.0/24 via 10.0.0.2")
    wait_until(lambda: node.backends()["192.0.2.1:80"].get("next_hop") == far, "a next hop by the new route")
    node.host.ip("route del 192.0.2.0/24")
    wait_until(lambda: "next_hop" not in node.backends()["192.0.2.1:80"], "the route is gone")
    assert "backend 192.0.2.1 has no next hop: no route to 192.0.2.1" in node.daemon.output()


def test_keeps_neighbours_fresh_that_only_the_engine_uses(node):
    node.configure(services(pool(check={"type": "none"})))
    node.host.sysctl(net__ipv4__neigh__eth0__base_reachable_time_ms=1000,
                     net__ipv4__neigh__eth0__delay_first_probe_time=1)
    node.start()
    wait_until(lambda: node.backends()["10.0.0.1:80"].get("next_hop"), "a next hop")
    states = set()
    for _ in range(30):
        states.add(node.host.run("ip", "neigh", "show", "10.0.0.1").stdout.split()[-1])
        assert node.backends()["10.0.0.1:80"].get("next_hop")
        time.sleep(0.2)
    assert "REACHABLE" in states
    assert states & {"DELAY", "PROBE"}, "a stale entry is verified"


def test_with_a_gateway_mac_all_go_there(node):
    node.write(forwarder='gateway_mac = "02:00:00:00:00:07"')
    node.start()
    assert {backend["next_hop"] for backend in node.backends().values()} == {"02:00:00:00:00:07"}


def test_sighup_applies_a_new_services_file(each_engine):
    node = each_engine
    node.server(1), node.server(2)
    node.start()
    node.configure(services(pool(hosts=(2,)), pool("other", (1,))))
    node.daemon.popen.send_signal(signal.SIGHUP)
    wait_until(lambda: node.metric("fairlead_config_generation") == 2, "generation 2")
    assert {p["id"] for p in node.json("/v1/pools")} == {"web", "other"}
    assert [s["service"] for s in node.json("/v1/vips/v")["services"]] == ["tcp/80", "tcp/81"]
    assert node.metric("fairlead_config_reloads_total", result="applied") == 1
    lines = node.expect("RELOADING=1")
    assert any(line.startswith("MONOTONIC_USEC=") for line in lines)
    node.expect("READY=1")


def test_connections_keep_their_backends_when_their_pool_is_renamed(each_engine):
    node = each_engine

    def renamed(name, *more):
        value = services(pool(name, (1, 2, 3), check={"type": "none"}), *more)
        value["vips"][0]["services"][0] |= {"protocol": "udp", "port": 7}
        return value

    def reload(value, generation):
        node.configure(value)
        node.daemon.popen.send_signal(signal.SIGHUP)
        wait_until(lambda: node.metric("fairlead_config_generation") == generation, f"generation {generation}")

    def send_from_each_port():
        node.far.run("python3", "-c", FLOWS, VIP)

    node.configure(renamed("a"))
    node.start()
    send_from_each_port()
    wait_until(lambda: node.metric("fairlead_packets_total", verdict="forward", reason="new") == 100, "100 flows")
    reload(renamed("b"), 2)
    send_from_each_port()
    both = [pool(name, (1, 2, 3), check={"type": "none"}) for name in "bc"]
    reload(renamed("b", both[1]), 3)
    reload(renamed("c", both[0]), 4)
    reload(renamed("c"), 5)
    send_from_each_port()
    wait_until(lambda: node.metric("fairlead_packets_total", verdict="forward", reason="known") == 200, "200 more")
    assert not node.metric("fairlead_packets_total", verdict="forward", reason="repinned")
    of_c = [node.metric("fairlead_backend_packets_total", pool="c", backend=f"10.0.0.{n}:80") for n in (1, 2, 3)]
    assert sum(of_c) == 100, "what the pool got since it is the only one"


def test_says_ready_after_a_reload_only_when_it_is_in_force(node):
    node.start()
    node.configure(services(pool(hosts=(1, 77))))     # nobody has 10.0.0.77: its next hop is waited for
    node.daemon.popen.send_signal(signal.SIGHUP)
    node.expect("RELOADING=1")
    node.expect("READY=1")
    assert node.metric("fairlead_config_generation") == 2
    node.configure("{")
    node.daemon.popen.send_signal(signal.SIGHUP)
    node.expect("RELOADING=1")
    node.expect("READY=1")
    assert node.metric("fairlead_config_reloads_total", result="refused") == 1


def test_a_pool_that_is_gone_is_gone_from_the_metrics(node):
    node.server(1)
    node.configure(services(pool("old", (1,))))
    node.start()
    node.wait_for_health(b1="up")
    assert node.metric("fairlead_health_checks_total", pool="old", result="passed") >= 2
    node.configure(services(pool("new", (1,))))
    node.daemon.popen.send_signal(signal.SIGHUP)
    wait_until(lambda: node.metric("fairlead_health_checks_total", pool="new", result="passed"), "checks of the new")
    assert node.metric("fairlead_health_checks_total", pool="old", result="passed") is None


def test_an_address_that_the_host_gets_later_is_left_to_the_host(each_engine):
    node = each_engine
    prefix = services(pool(hosts=(1,), check={"type": "none"}))
    prefix["vips"][0]["address"] = "198.51.100.0/24"
    node.configure(prefix)
    node.far.ip("route add 198.51.100.0/24 via 10.0.0.254")
    node.host.ip("addr add 198.51.100.7/32 dev lo")
    node.start()

    def answers(last):       # the host's stack refuses the connection (7); a VIP without such a service is silent
        return node.far.run("curl", "-s", "-m", "1", f"http://198.51.100.{last}:9/", check=False).returncode == 7

    assert answers(7)
    assert not answers(8)
    node.host.ip("addr add 198.51.100.8/32 dev lo")
    wait_until(lambda: answers(8), "the new address answers")


def test_sighup_refuses_a_wrong_file_as_a_whole(node):
    node.server(1), node.server(2)
    node.start()
    wrong = services(pool(hosts=(2,)))
    wrong["vips"][0]["services"][0]["backend_pool"] = "wbe"
    node.configure(wrong)
    node.daemon.popen.send_signal(signal.SIGHUP)
    wait_until(lambda: node.metric("fairlead_config_reloads_total", result="refused") == 1, "a refusal")
    assert node.metric("fairlead_config_generation") == 1
    assert [b["name"] for b in node.json("/v1/backends")] == ["10.0.0.1:80", "10.0.0.2:80"]
    assert "wbe" in node.json("/v1/status")["last_refusal"]
    assert f"{node.services}:" in node.daemon.output()
    assert node.daemon.output().count("the old one stays") == 1, "said once"

    node.services.unlink()
    node.daemon.popen.send_signal(signal.SIGHUP)
    wait_until(lambda: node.metric("fairlead_config_reloads_total", result="refused") == 2, "another refusal")
    assert "does not exist" in node.json("/v1/status")["last_refusal"]

    node.configure(services(pool(hosts=(2,))))
    node.daemon.popen.send_signal(signal.SIGHUP)
    wait_until(lambda: node.metric("fairlead_config_generation") == 2, "the mended file")
    assert node.json("/v1/status")["last_refusal"] == ""


def test_checks_that_are_not_there_yet_are_said_once_and_count_as_up(node):
    node.configure(services(pool(check={"type": "https"}), pool("pinged", (3,), check={"type": "icmp"})))
    node.start()
    assert node.daemon.output().count("health checks of type https are not implemented yet") == 1
    assert node.daemon.output().count("health checks of type icmp are not implemented yet") == 1
    wait_until(lambda: all(b["takes_new"] for b in node.backends().values()), "all take flows")
    assert {b["health"] for b in node.backends().values()} == {"unknown"}


def test_serves_on_a_tcp_port_too(node):
    node.write(http_at="127.0.0.1:9100")
    node.start()
    done = node.host.run("curl", "-s", "-i", "http://127.0.0.1:9100/v1/nothing")
    assert done.stdout.startswith("HTTP/1.1 404 ") and "application/problem+json" in done.stdout
    assert node.run("status", "-c", node.config).returncode == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_stops_on_either_signal_though_backends_do_not_answer(node, number):
    node.configure(services(pool(hosts=(77, 78), check={"interval": "1s", "timeout": "60s"})))
    node.start()
    assert stop(node, number) == 0


def test_status_shows_the_node_and_why_a_backend_is_down(node):
    node.server(1)
    node.start()
    node.wait_for_health(b1="up", b2="down")
    done = node.run("status", "-c", node.config)
    assert done.returncode == 0, done.stderr
    assert "engine      xdp on eth0: " in done.stdout
    row = next(line for line in done.stdout.splitlines() if "10.0.0.2:80" in line)
    assert "down" in row and "refused" in row
    assert json.loads(node.run("status", "-c", node.config, "--json").stdout)["node"] == "n1"


def test_status_has_exit_code_3_without_a_daemon(node):
    done = node.run("status", "-c", node.config)
    assert done.returncode == 3
    assert done.stderr.count("\n") == 1 and "no daemon answers" in done.stderr


def test_takes_a_relative_path_of_its_configuration(node):
    node.daemon = node.host.start("fairlead", "sh", "-c", f"cd {node.folder} && exec {PROGRAM} run -c node.toml")
    wait_until(lambda: node.socket.exists() and node.get("/readyz")[0] == 200, "ready")


def test_goes_on_when_nobody_reads_what_it_tells_systemd(node):
    node.start()
    for _ in range(40):         # far more than a socket holds
        node.daemon.popen.send_signal(signal.SIGHUP)
        time.sleep(0.02)
    assert node.get("/healthz")[0] == 200
    node.expect("READY=1")
    node.configure("{")
    node.daemon.popen.send_signal(signal.SIGHUP)
    wait_until(lambda: node.metric("fairlead_config_reloads_total", result="refused") == 1, "the last reload")
    assert stop(node) == 0


@pytest.mark.parametrize("reader", ["has gone", "does not read"])
def test_goes_on_when_nobody_takes_its_log(node, reader):
    read_end, write_end = os.pipe()
    node.daemon = node.host.start("fairlead", PROGRAM, "run", "-c", node.config, env=node.ready.environment(),
                                  stderr=write_end)
    os.close(write_end)
    node.expect("READY=1")
    if reader == "has gone":
        os.close(read_end)
    node.configure(json.dumps({f"x{number}": "y" * 200 for number in range(20)}))    # a reload says 20 problems
    for number in range(1, 40):
        node.daemon.popen.send_signal(signal.SIGHUP)
        wait_until(lambda: node.metric("fairlead_config_reloads_total", result="refused") == number, "a refusal")
    assert node.metric("fairlead_log_lines_left_out_total") > 0
    assert stop(node) == 0


def not_ready(node):
    status, _, body = node.get("/readyz")
    return status == 503 and body


def test_is_not_ready_while_its_interface_is_down(each_engine):
    node = each_engine
    node.start()
    node.host.ip("link set eth0 down")
    assert "interface eth0 is down" in wait_until(lambda: not_ready(node), "not ready")
    assert "forwarding  no: interface eth0 is down" in node.run("status", "-c", node.config).stdout
    node.host.ip("link set eth0 up")
    wait_until(lambda: node.get("/readyz")[0] == 200, "ready again")
    node.far.ip("link set eth0 down")
    assert "interface eth0 has no link" in wait_until(lambda: not_ready(node), "not ready")
    assert "nothing is forwarded: interface eth0 has no link" in node.daemon.output()


def test_forwards_again_on_an_interface_that_was_deleted_and_made_again(each_engine):
    node = each_engine
    udp = services(pool(hosts=(1,), check={"type": "none"}))
    udp["vips"][0]["services"][0] |= {"protocol": "udp", "port": 7}
    node.configure(udp)
    node.start()
    node.host.ip("link del eth0")
    assert "interface eth0 is gone" in wait_until(lambda: not_ready(node), "not ready")
    node.lab.cable(node.host, "eth0", node.far, "eth0")
    node.host.ip("addr add 10.0.0.254/24 dev eth0")
    node.far.ip("addr add 10.0.0.1/24 dev eth0", f"route add {VIP}/32 via 10.0.0.254")
    wait_until(lambda: node.get("/readyz")[0] == 200, "ready again")
    mac = json.loads(node.far.run("ip", "-j", "link", "show", "eth0").stdout)[0]["address"]
    wait_until(lambda: node.backends()["10.0.0.1:80"].get("next_hop") == mac, "the new next hop")
    node.far.run("python3", "-c", SEND, VIP, "50")
    wait_until(lambda: node.metric("fairlead_backend_packets_total", pool="web", backend="10.0.0.1:80") == 50, "50")
    assert stop(node) == 0


def test_follows_its_interface_to_another_name_and_mac_address(node):
    node.configure(services(pool(hosts=(1,), check={"type": "none"})))
    node.start()
    node.host.ip("link set eth0 down", "link set eth0 name lan0", "link set lan0 address 02:00:00:00:00:99",
                 "link set lan0 up")
    wait_until(lambda: "interface eth0 is called lan0 now" in node.daemon.output(), "the new name")
    wait_until(lambda: "another MAC address now: 02:00:00:00:00:99" in node.daemon.output(), "the new MAC address")
    wait_until(lambda: node.get("/readyz")[0] == 200, "ready again")
