"""A server of grpcio that answers as its arguments say, and tells on stdout what it sees.

Each argument is `messages:code:pushback` for one call; after the last, a call gets its own message back.
"""

import sys
from concurrent import futures

import grpc

script = sys.argv[1:]
codes = {code.value[0]: code for code in grpc.StatusCode}


def answer(message, context):
    metadata = dict(context.invocation_metadata())
    previous = metadata.get("grpc-previous-rpc-attempts", "-")
    remaining = context.time_remaining()
    # Without a deadline it is some 300 million years.
    print(previous, "-" if remaining > 1e9 else round(remaining), flush=True)
    if not script:
        return (yield message)
    messages, code, pushback = script.pop(0).split(":")
    for _ in range(int(messages)):
        yield message
    if pushback:
        context.set_trailing_metadata([("grpc-retry-pushback-ms", pushback)])
    context.abort(codes[int(code)], "as told")


handlers = {
    "Get": grpc.unary_unary_rpc_method_handler(lambda *call: next(answer(*call))),
    "Watch": grpc.unary_stream_rpc_method_handler(answer),
}
server = grpc.server(futures.ThreadPoolExecutor(2))
server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler("shop.v1.Orders", handlers)])
print(server.add_insecure_port("127.0.0.1:0"), flush=True)
server.start()
sys.stdin.read()  # until the test ends
server.stop(None)
