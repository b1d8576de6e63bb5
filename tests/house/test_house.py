# SPDX-License-Identifier: MIT
"""Runs each house rule over the tree, and over small trees that keep it and break it."""
from pathlib import Path

import pytest
from examples import BAD, GOOD
from rules import RULES
from tree import Tree

ROOT = Path(__file__).resolve().parents[2]
NAMES = [rule.__name__ for rule in RULES]


def planted(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (folder / ".clang-format").write_text((ROOT / ".clang-format").read_text())
    return Tree(folder)


@pytest.fixture(scope="session")
def tree():
    return Tree.of_git(ROOT)


@pytest.mark.parametrize("rule", RULES, ids=NAMES)
def test_the_tree_keeps(rule, tree):
    faults = list(rule(tree))
    if faults:
        pytest.fail("\n".join([f"{len(faults)} times: {rule.__doc__}", *faults[:50]]), pytrace=False)


@pytest.mark.parametrize("rule", RULES, ids=NAMES)
def test_a_good_tree_keeps(rule, tmp_path):
    assert list(rule(planted(tmp_path, GOOD))) == []


@pytest.mark.parametrize("name, files, expected", [(name, *bad) for name, cases in BAD.items() for bad in cases])
def test_a_bad_tree_breaks(name, files, expected, tmp_path):
    rule = RULES[NAMES.index(name)]
    faults = list(rule(planted(tmp_path, GOOD | files)))
    assert any(expected in fault for fault in faults), faults


def test_every_rule_has_an_example_that_breaks_it():
    assert sorted(BAD) == sorted(NAMES)
