# SPDX-License-Identifier: MIT
"""`fairlead check`."""
import pytest


def test_says_in_one_line_that_the_files_are_valid(files):
    done = files.check()
    assert done.returncode == 0
    assert done.stdout == f"node.toml with {files.services} is valid: 1 VIP, 1 pool, 1 backend\n"
    assert done.stderr == ""


def test_names_every_problem_of_both_files_at_once(files):
    files.write(forwarder="network_mut = 1500")
    files.write_services({"port": 99999, "backend_pool": "wbe"}, {"table_size": 250})
    done = files.check()
    assert done.returncode == 1 and done.stdout == ""
    assert len(done.stderr.splitlines()) == 4
    for what in ("node.toml:10:1: forwarder.network_mut", 'did you mean "network_mtu"', "vips[0].services[0].port",
                 'did you mean "web"', "the nearest is 251"):
        assert what in done.stderr, done.stderr


def test_another_services_file_may_stand_in_for_the_one_of_the_node(files):
    files.services.unlink()
    assert "does not exist" in files.check().stderr
    other = files.folder / "other.json"
    files.write_services(path=other)
    done = files.check("--services", other)
    assert done.returncode == 0 and "other.json is valid" in done.stdout


def test_a_missing_file_is_a_problem(files):
    done = files.run("check", "-c", "nothing.toml")
    assert done.returncode == 1 and "nothing.toml: does not exist" in done.stderr


def test_what_works_without_is_a_warning(files):
    files.write(forwarder='layout = "pipeline"',
                more='[bgp]\nlocal_asn = 65000\nrouter_id = "10.0.0.254"')
    files.write_services({"tracking": "exceptions"})
    done = files.check()
    assert done.returncode == 0
    warnings = done.stderr.splitlines()
    assert [line.split(": ")[:2] for line in warnings] == [
        ["warning", "forwarder.layout"], ["warning", "bgp"], ["warning", "vips[0].services[0].tracking"]]


def test_lists_every_key_with_its_default(files):
    done = files.run("check", "--keys")
    assert done.returncode == 0
    for what in ("node.toml\n", "services.json\n", "  node.id  (required)\n",
                 "  forwarder.network_mtu  (default 1500)\n", "  pools[].backends[].weight  (default 1)\n"):
        assert what in done.stdout
    for promised in ("watched", "dashboard", "last good"):
        assert promised not in done.stdout, "only what this version does"


@pytest.mark.parametrize("words", [("check",), ("check", "--frobnicate"), (), ("chek",), ("run", "--log-level", "loud"),
                                   ("replay",)])
def test_wrong_usage_ends_with_2_and_one_line(files, words):
    done = files.run(*words)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1 and "--help" in done.stderr


def test_the_command_that_was_meant_is_suggested(files):
    assert 'there is no command chek; did you mean "check"?' in files.run("chek").stderr


def test_a_log_level_that_is_none_names_those_that_are(files):
    assert "warning" in files.run("run", "-c", "node.toml", "--log-level", "loud").stderr
