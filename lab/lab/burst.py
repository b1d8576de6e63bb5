#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""An exact number of connections: burst.py COUNT FIRST_PORT URL...  COUNT requests to each URL, 50 at a time.

The source ports count up from FIRST_PORT: the same flows each time, so that with one hash seed the same
backends answer. Prints {"answered": {"b1": 334, ...}, "failed": {"refused": 1}}.
"""
import asyncio
import collections
import json
import sys
import urllib.parse

from load import kind_of, get

AT_A_TIME, PATIENCE = 50, 10.0


async def main(count, first_port, urls):
    answered, failed = collections.Counter(), collections.Counter()
    places = asyncio.Semaphore(AT_A_TIME)

    async def one(url, port):
        async with places:
            try:
                answered[await asyncio.wait_for(get(url, port), PATIENCE)] += 1
            except (OSError, asyncio.TimeoutError) as error:
                failed[kind_of(error)] += 1

    ports = iter(range(first_port, first_port + count * len(urls)))
    await asyncio.gather(*(one(url, next(ports)) for _ in range(count) for url in urls))
    print(json.dumps({"answered": answered, "failed": failed}))


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), int(sys.argv[2]), [urllib.parse.urlparse(url) for url in sys.argv[3:]]))
