# SPDX-License-Identifier: MIT
"""What the documents and examples say is true of the program."""
import re
import shutil
import subprocess

import pytest

from conftest import PROGRAM, ROOT

DOCUMENTS = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
REASON = re.compile(r'X\((\w+), \w+, "(\w+)",(?:\s|\\)*"([^"]*)"\)')


def commands():
    """`fairlead a b --c` as (document, ["a", "b", "--c"])"""
    for path in DOCUMENTS:
        for line in re.findall(r"^ *(fairlead .*)$|`(fairlead [^`]*)`", path.read_text(), re.MULTILINE):
            yield path.name, (line[0] or line[1]).split()[1:]


def test_the_examples_are_valid(files):
    for name in ("node.toml", "services.json"):
        shutil.copy(ROOT / "packaging/examples" / name, files.folder)
    done = files.run("check", "-c", "node.toml")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


@pytest.mark.parametrize("document, words", [pytest.param(*one, id=" ".join(one[1])) for one in commands()])
def test_every_command_in_the_documents_exists_with_its_options(document, words):
    names = [word for word in words if re.fullmatch(r"[a-z]+", word)]
    told = subprocess.run([PROGRAM, *names[:2 if words[:1] == ["backend"] else 1], "--help"], check=False, text=True,
                          capture_output=True, timeout=30)
    assert told.returncode == 0, f"{document}: there is no `fairlead {' '.join(words)}`"
    for option in (word for word in words if word.startswith("-")):
        assert re.search(rf"(^|[ ,]){re.escape(option)}\b", told.stdout, re.MULTILINE), \
            f"{document}: no option {option}"


def test_the_table_of_verdicts_is_the_list_in_the_source():
    source = REASON.findall((ROOT / "src/core/verdict.h").read_text())
    rows = re.findall(r"^\| (\w+) \| (\w+) \| (.*?) \|", (ROOT / "docs/verdicts.md").read_text(), re.MULTILINE)
    assert rows[1:] == source if rows[0][0] == "verdict" else rows == source
    assert len(source) > 20
