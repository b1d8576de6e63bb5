# SPDX-License-Identifier: MIT
"""Datagrams in fragments, in any order, with answers in fragments; and those that the tunnel makes too big."""
import pytest
from world import CLIENT, ECHO, FAMILIES, METHODS, NODE, vip

pytestmark = [pytest.mark.parametrize("method", METHODS), pytest.mark.parametrize("family", FAMILIES)]


def expect_answers(answers, count, method, family):
    assert len(answers) == count
    assert {peer for _, peer, _ in answers} == {(NODE if method == "snat" else CLIENT)[family]}


@pytest.mark.parametrize(("size", "piece"), [(1232, 400), (8192, 1400)])
def test_fragments_that_come_last_first_are_answered(world, method, family, size, piece):
    expect_answers(world.ask("fragments", vip(method, family), ECHO, size, piece, "reversed", 5), 5, method, family)


def test_fragments_of_several_clients_in_any_order_are_answered(world, method, family):
    # Not more at once: Linux gives up IPv4 datagrams when 64 other fragments came between (ipfrag_max_dist).
    expect_answers(world.ask("fragments", vip(method, family), ECHO, 8192, 1400, "mixed", 10), 10, method, family)


def test_a_large_datagram_and_its_large_answer_arrive(world, method, family):
    # IPv4 without DF is cut by the node where it does not fit; IPv6 hears what fits, and asks again.
    kind = "udp-cut" if family == 4 else "udp-again"
    for size in (1300, 1472 if family == 4 else 1452, 8192):
        expect_answers(world.ask("echo", kind, vip(method, family), ECHO, size), 1, method, family)
