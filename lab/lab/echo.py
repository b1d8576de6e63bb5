#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""An echo service: echo.py NAME PORT ADDRESS...  UDP: "NAME " and the datagram, from the address it came to.
TCP: every byte back, until the client has no more."""
import asyncio
import sys


class Datagrams(asyncio.DatagramProtocol):
    def __init__(self, name):
        self.prefix = f"{name} ".encode()

    def connection_made(self, transport):
        self.transport = transport

    def datagram_received(self, data, sender):
        self.transport.sendto(self.prefix + data, sender)


async def stream(reader, writer):
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
        writer.close()
    except ConnectionError:
        pass


async def main(name, port, addresses):
    loop = asyncio.get_running_loop()
    for address in addresses:
        await loop.create_datagram_endpoint(lambda: Datagrams(name), local_addr=(address, port))
        await asyncio.start_server(stream, address, port)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), sys.argv[3:]))
