# SPDX-License-Identifier: MIT
"""What all commands have in common: usage, help, version, where node.toml is, what a full disk does."""
import re
import socket

import pytest

COMMANDS = [(), ("run",), ("check",), ("replay",), ("status",), ("backend",), ("backend", "setup"),
            ("backend", "check"), ("backend", "remove"), ("version",), ("help",)]


@pytest.mark.parametrize("words, command", [
    ((), ""), (("chek",), ""), (("--frobnicate",), ""), (("check", "--frobnicate"), " check"), (("replay",), " replay"),
    (("run", "--log-level", "loud"), " run"), (("backend",), " backend"), (("backend", "setpu"), " backend"),
    (("backend", "setup"), " backend setup"), (("help", "chek"), " help")])
def test_wrong_usage_ends_with_2_and_one_line_that_names_the_help_of_the_command(files, words, command):
    done = files.run(*words)
    assert done.returncode == 2 and done.stdout == ""
    assert re.fullmatch(rf"fairlead: .*; see `fairlead{command} --help`\n", done.stderr), done.stderr


def test_the_command_that_was_meant_is_suggested(files):
    for words in (("chek",), ("help", "chek")):
        assert 'there is no command chek; did you mean "check"?' in files.run(*words).stderr
    assert 'there is no command setpu; did you mean "setup"?' in files.run("backend", "setpu").stderr


def test_a_log_level_that_is_none_names_those_that_are(files):
    assert "warning" in files.run("run", "-c", "node.toml", "--log-level", "loud").stderr


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_help_as_a_word_and_as_an_option_say_the_same(files, words):
    by_option, by_word = files.run(*words, "--help"), files.run("help", *words)
    assert (by_option.returncode, by_word.returncode) == (0, 0)
    assert by_option.stdout == by_word.stdout
    assert f"Usage: fairlead{''.join(' ' + word for word in words)} " in by_word.stdout


def test_the_list_of_commands_above_is_whole(files):
    def listed(*words):
        for line in files.run(*words, "--help").stdout.partition("Subcommands:")[2].splitlines():
            if name := re.match(r"  (\w+)", line):
                yield from [(*words, name[1]), *listed(*words, name[1])]
    assert sorted(listed()) == sorted(COMMANDS[1:])


def test_the_version_is_the_same_however_it_is_asked_for(files):
    told = {files.run(words).stdout for words in ("version", "--version", "-V")}
    assert len(told) == 1 and re.fullmatch(r"fairlead \d+\.\d+\.\d+\n", told.pop())


@pytest.mark.parametrize("words", [("run",), ("check",), ("replay",), ("status",)], ids=" ".join)
def test_every_command_looks_for_node_toml_in_the_same_place(files, words):
    assert "-c,--config FILE=/etc/fairlead/node.toml" in files.run(*words, "--help").stdout


@pytest.mark.parametrize("words", [("check", "--keys"), ("check", "-c", "node.toml"), ("--help",), ("version",),
                                   ("help", "run")], ids=" ".join)
def test_what_cannot_be_written_to_standard_output_is_one_line_and_1(files, words):
    with open("/dev/full", "w") as full:
        done = files.run(*words, stdout=full, stderr=-1, capture_output=False)
    assert done.returncode == 1
    assert done.stderr == "fairlead: standard output: cannot be written: No space left on device\n"


def test_status_says_when_nobody_listens(files):
    files.write(node=f'http = "{files.folder}/none"')
    done = files.run("status", "-c", "node.toml")
    assert done.returncode == 3
    assert re.fullmatch(r"fairlead: no daemon answers at .*/none: .*\n", done.stderr)


def test_status_says_when_who_listens_does_not_answer(files):
    files.write(node=f'http = "{files.folder}/silent"')
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(f"{files.folder}/silent")
        silent.listen()
        done = files.run("status", "-c", "node.toml")
    assert done.returncode == 3
    assert "did not answer within 2 s" in done.stderr and len(done.stderr.splitlines()) == 1
