# SPDX-License-Identifier: MIT
"""The list of expected failures is well-formed and up to date."""
from expected_failures import LIST, parse
from kit.case import CASES
from test_conformance import VARIANTS

IDS = {"test_case": [case.id for case in CASES],
       "test_agreement": [f"{case.id}-{variant}" for case in CASES for variant in VARIANTS]}


def test_every_line_says_which_cases_and_why():
    assert parse(LIST.read_text())[1] == []


def test_every_line_fits_a_case():
    stale = [f"{LIST.name}:{line.number}: {line.pattern}" for line in parse(LIST.read_text())[0]
             if not any(line.fits(line.test, case_id) for case_id in IDS[line.test])]
    assert stale == []


def test_a_line_without_a_reason_is_refused():
    lines, faults = parse("# heading\n\n4-nat-*\nxdp: agree 4-nat-*  # later\n")
    assert len(faults) == 1 and ":3:" in faults[0]
    assert [(line.engines, line.test, line.pattern, line.reason) for line in lines] == [
        (("xdp",), "test_agreement", "4-nat-*", "later")]
