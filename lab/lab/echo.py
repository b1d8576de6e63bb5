#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""A UDP echo service: echo.py NAME PORT ADDRESS... Answers "NAME " and the datagram, from the address it came to."""
import selectors
import socket
import sys

name, port, *bound = sys.argv[1:]
selector = selectors.DefaultSelector()
for address in bound:
    endpoint = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM)
    endpoint.bind((address, int(port)))
    selector.register(endpoint, selectors.EVENT_READ)
while True:
    for key, _ in selector.select():
        data, sender = key.fileobj.recvfrom(65536)
        key.fileobj.sendto(f"{name} ".encode() + data, sender)
