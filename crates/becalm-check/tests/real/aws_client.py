"""Makes clients of AWS Lambda from config files, and calls with them.

For each line of input, a JSON object with `config` (a path), `profile`, `port`, `method`, `calls` and `draw` (what
every draw of a random number gives), it writes one: why a client was `refused`, or the seconds of its `sleeps`, of
which none passes."""

import json
import os
import random
import sys
import time

drawn = 0.0
random.random = lambda: drawn  # before botocore takes it for its defaults

import botocore.exceptions
import botocore.loaders
import botocore.session
from botocore.config import Config
from botocore.retries import bucket

CALLS = {
    "GET": lambda client: client.list_functions(),
    "POST": lambda client: client.publish_version(FunctionName="orders"),
    "PUT": lambda client: client.put_function_concurrency(
        FunctionName="orders", ReservedConcurrentExecutions=1
    ),
    "DELETE": lambda client: client.delete_function(FunctionName="orders"),
}

sleeps = []
time.sleep = sleeps.append
ticks = iter(range(0, 10**9, 60))
bucket.Clock.current_time = lambda self: next(ticks)  # of the rate in the mode adaptive: a minute for each look
loader = botocore.loaders.create_loader()


def answer(asked):
    global drawn
    drawn = asked["draw"]
    sleeps.clear()
    os.environ["AWS_CONFIG_FILE"] = asked["config"]
    try:
        session = botocore.session.Session(profile=asked["profile"])
        session.register_component("data_loader", loader)
        client = session.create_client(
            "lambda",
            region_name="eu-central-1",
            aws_access_key_id="x",
            aws_secret_access_key="x",
            endpoint_url=f"http://127.0.0.1:{asked['port']}",
            config=Config(read_timeout=asked["timeout"]),
        )
    except (botocore.exceptions.BotoCoreError, ValueError, TypeError) as error:
        return {"refused": repr(error)}
    ended = ""
    for _ in range(asked["calls"]):
        try:
            CALLS[asked["method"]](client)
        except (botocore.exceptions.ClientError, botocore.exceptions.BotoCoreError) as error:
            ended = repr(error)
    return {"refused": None, "sleeps": sleeps, "ended": ended}


for line in sys.stdin:
    print(json.dumps(answer(json.loads(line))), flush=True)
