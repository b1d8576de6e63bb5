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
    assert [line.split(": ")[:3] for line in warnings] == [
        ["fairlead", "warning", what] for what in ("forwarder.layout", "bgp", "vips[0].services[0].tracking")]


def test_lists_every_key_with_its_default(files):
    done = files.run("check", "--keys")
    assert done.returncode == 0
    for what in ("node.toml\n", "services.json\n", "  node.id  (required)\n",
                 "  forwarder.network_mtu  (default 1500)\n", "  pools[].backends[].weight  (default 1)\n"):
        assert what in done.stdout
    for promised in ("watched", "dashboard", "last good"):
        assert promised not in done.stdout, "only what this version does"


def test_a_relative_path_of_services_counts_from_the_folder_of_node_toml(files):
    files.node.write_text(files.node.read_text().replace(str(files.services), "services.json"))
    for folder in (files.folder, files.folder.parent):
        done = files.run("check", "-c", files.node, cwd=folder)
        assert done.returncode == 0, done.stderr
        assert f"with {files.services} is valid" in done.stdout


def test_a_backend_that_is_listed_twice_is_counted_once(files):
    twice = [{"ip": "10.0.0.1", "port": 80}, {"ip": "10.0.0.1", "port": 81}]
    files.write_services(pool={"backends": twice})
    assert "1 pool, 1 backend\n" in files.check().stdout
    files.write_services(pool={"backends": twice, "method": "nat"})
    assert "1 pool, 2 backends\n" in files.check().stdout


def test_json_has_objects_and_toml_has_tables(files):
    files.write(forwarder="connection_ttls = 1")
    files.services.write_text('{"vips": {}, "pools": [7]}')
    told = files.check().stderr
    assert "forwarder.connection_ttls: is 1, expected a table" in told
    assert "vips: is {...}, expected a list of at most 65535, each an object" in told
    assert "pools[0]: is 7, expected an object" in told
