"""A server of Python's websockets that does as its path says."""

import asyncio
import http
import signal
import sys
from collections import Counter

from websockets.asyncio.server import serve
from websockets.exceptions import ConnectionClosed

visits, seen = Counter(), Counter()


def refuse(connection, request):
    """/refuse/STATUS/TIMES: so many handshakes; a 429 or 503 asks for a second."""
    visits[request.path] += 1
    what, *how = request.path.strip("/").split("/")
    if what == "refuse" and visits[request.path] <= int(how[1]):
        response = connection.respond(http.HTTPStatus(int(how[0])), "not now\n")
        if how[0] in ("429", "503"):
            response.headers["Retry-After"] = "1"
        return response


def choose(_, offered):
    return next((one for one in ("orders.v2", "orders.v1") if one in offered), None)


async def serve_one(socket):
    what, *how = socket.request.path.strip("/").split("/")
    if what == "close" and visits[socket.request.path] <= int(how[1]):
        if how[0] == "1006":
            socket.transport.abort()
        else:
            await socket.close(int(how[0]), "as you asked")
    elif what == "fragments":
        await socket.send(["in ", "three ", "parts"])
        await socket.send([b"\0", b"\1"])
    elif what == "ping":
        await (await socket.ping(b"are you there?"))
        await socket.send("it answers")
    elif what == "handshake":
        offered = socket.request.headers.get("Sec-WebSocket-Extensions", "nothing")
        await socket.send(f"{socket.subprotocol} {offered}")
    elif what == "seen":
        await socket.send(f"{len(seen)} {sum(seen.values())}")
    async for message in socket:
        seen[message] += 1
        await socket.send(message)


async def main():
    options = dict(process_request=refuse, select_subprotocol=choose)
    async with serve(serve_one, "127.0.0.1", int(sys.argv[1]), **options) as server:
        # It says 1001 to all.
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, server.close)
        await server.wait_closed()


asyncio.run(main())
