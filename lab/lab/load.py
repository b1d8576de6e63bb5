#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""HTTP load: load.py SECONDS RATE URL...  Every request is a connection of its own, the URLs in turn.

At most RATE requests a second are begun, by 64 clients: fewer when answers are slow.

Prints a JSON object for each quarter of a second, as soon as it is over:

    {"time": 12.25, "answered": {"b1": 100, "b2": 98}, "failed": {"refused": 3}, "last_failed_began": 11.9,
     "slowest_ms": 31.2}

`answered` is by the answer's body (the name of the backend). Times are CLOCK_MONOTONIC, which all hosts of a
lab share. A request has three seconds, which is time enough for TCP to repair a lost packet.
"""
import asyncio
import collections
import json
import sys
import time
import urllib.parse

PERIOD, PATIENCE, CLIENTS = 0.25, 3.0, 64


class Period:
    def __init__(self):
        self.answered, self.failed = collections.Counter(), collections.Counter()
        self.last_failed_began, self.slowest = None, 0.0

    def report(self):
        print(json.dumps({"time": time.monotonic(), "answered": self.answered, "failed": self.failed,
                          "last_failed_began": self.last_failed_began, "slowest_ms": round(self.slowest * 1e3, 1)}),
              flush=True)


def kind_of(error):
    return {ConnectionRefusedError: "refused", ConnectionResetError: "reset", asyncio.TimeoutError: "timeout",
            ConnectionAbortedError: "cut short"}.get(type(error), "other")


async def get(url, source_port=None):
    """The body of the answer, over a connection of its own."""
    any_address = "::" if ":" in url.hostname else "0.0.0.0"
    reader, writer = await asyncio.open_connection(
        url.hostname, url.port or 80, local_addr=(any_address, source_port) if source_port else None)
    try:
        writer.write(f"GET {url.path or '/'} HTTP/1.1\r\nHost: {url.hostname}\r\nConnection: close\r\n\r\n".encode())
        answer = await reader.read()
    finally:
        writer.close()
    head, _, body = answer.partition(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 200"):
        raise ConnectionAbortedError(head[:40])
    return body.decode().strip()


async def client(urls, number, rate, until, current):
    pause, turn = CLIENTS / rate, number
    await asyncio.sleep(pause * number / CLIENTS)
    while (began := time.monotonic()) < until:
        try:
            name = await asyncio.wait_for(get(urls[turn % len(urls)]), PATIENCE)
        except (OSError, asyncio.TimeoutError) as error:
            current[0].failed[kind_of(error)] += 1
            current[0].last_failed_began = max(began, current[0].last_failed_began or began)
        else:
            current[0].answered[name] += 1
            current[0].slowest = max(current[0].slowest, time.monotonic() - began)
        turn += 1
        await asyncio.sleep(max(0, began + pause - time.monotonic()))


async def main(seconds, rate, urls):
    current, until = [Period()], time.monotonic() + seconds
    clients = [asyncio.create_task(client(urls, i, rate, until, current)) for i in range(CLIENTS)]
    while time.monotonic() < until:
        await asyncio.sleep(PERIOD)
        finished, current[0] = current[0], Period()
        finished.report()
    await asyncio.gather(*clients)
    current[0].report()


if __name__ == "__main__":
    asyncio.run(main(float(sys.argv[1]), float(sys.argv[2]), [urllib.parse.urlparse(url) for url in sys.argv[3:]]))
