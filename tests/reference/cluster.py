"""Processes on this machine that work together through TF_CONFIG."""

import contextlib
import json
import socket


def environments(count):
    """Return what to add to the environment of each of `count` workers."""
    with contextlib.ExitStack() as stack:
        sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
        addresses = [
            f"127.0.0.1:{stack.enter_context(each).getsockname()[1]}"
            for each in sockets
        ]
    found = {"cluster": {"worker": addresses}}
    tasks = [{"type": "worker", "index": index} for index in range(count)]
    return [{"TF_CONFIG": json.dumps(found | {"task": t})} for t in tasks]
