"""Makes calls one after the other with grpcio, and tells how each ended: the number of its code, or "refused" where
the service config is not taken."""

import sys

import grpc

address, config, calls = sys.argv[1:]
with grpc.insecure_channel(address, options=[("grpc.service_config", config)]) as channel:
    for _ in range(int(calls)):
        try:
            channel.unary_unary("/shop.v1.Orders/Get")(b"", timeout=20)
            print(0)
        except grpc.RpcError as error:
            details = error.details() or ""
            refused = details.startswith("Failed to create channel")
            print("refused" if refused else error.code().value[0], flush=True)
