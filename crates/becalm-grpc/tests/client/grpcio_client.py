"""A client of grpcio with a retry policy of its own: one call, of which it tells the status and the milliseconds."""

import json
import sys
import time

import grpc

config = {
    "methodConfig": [{
        "name": [{}],
        "retryPolicy": {
            "maxAttempts": 4,
            "initialBackoff": "0.02s",
            "maxBackoff": "0.02s",
            "backoffMultiplier": 1,
            "retryableStatusCodes": ["UNAVAILABLE", "RESOURCE_EXHAUSTED"],
        },
    }]
}
options = [("grpc.service_config", json.dumps(config))]
with grpc.insecure_channel(sys.argv[1], options=options) as channel:
    grpc.channel_ready_future(channel).result(timeout=30)
    began = time.monotonic()
    try:
        channel.unary_unary("/shop.v1.Orders/Get")(b"", timeout=30)
        code = 0
    except grpc.RpcError as error:
        code = error.code().value[0]
    print(code, round(1000 * (time.monotonic() - began)))
