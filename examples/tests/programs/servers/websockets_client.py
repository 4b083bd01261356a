"""A client of Python's websockets: numbers there and back, then how the server ends it."""

import asyncio
import sys

from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed


async def main():
    async with connect(f"ws://127.0.0.1:{sys.argv[1]}/") as socket:
        for number in range(100):
            await socket.send(str(number))
            assert await socket.recv() == str(number)
        await socket.send(b"\0" * 100_000)
        assert len(await socket.recv()) == 100_000
        print("echoed", flush=True)
        try:
            await socket.recv()
        except ConnectionClosed as closed:
            print(closed.rcvd.code, closed.rcvd.reason, flush=True)


asyncio.run(main())
