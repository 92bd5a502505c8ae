#!/usr/bin/env python3
"""client.py REQUIREMENT...: ask pkgd for packages, follow the job, say how it ended.

Shows the whole of the API that an agent needs, with nothing but the standard library. It answers no card: it has no
way to, because it speaks to pkgd.sock only. Exits 0 when the packages are there, 75 when a card waits for a person,
1 otherwise.
"""
import http.client
import json
import os
import pathlib
import socket
import sys
import time
import uuid


class Connection(http.client.HTTPConnection):
    """HTTP over a unix socket."""

    def __init__(self, path, timeout=60):
        super().__init__("localhost", timeout=timeout)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Refused(Exception):
    """An answer of type `error`."""

    def __init__(self, result):
        super().__init__(f"{result['kind']}: {result['message']}" + (f" ({result['cure']})" if result["cure"] else ""))
        self.kind = result["kind"]


def run_directory():
    """Where the sockets are: `pkg config path` says the same."""
    if os.environ.get("PKGD_HOME"):
        return pathlib.Path(os.environ["PKGD_HOME"], "run")
    if os.environ.get("PKGD_SYSTEM") == "1":
        return pathlib.Path("/run/pkgd")
    if os.environ.get("XDG_RUNTIME_DIR"):
        return pathlib.Path(os.environ["XDG_RUNTIME_DIR"], "pkgd")
    state = os.environ.get("XDG_STATE_HOME") or pathlib.Path.home() / ".local" / "state"
    return pathlib.Path(state, "pkgd", "run")


class Client:
    """One daemon."""

    def __init__(self, directory=None):
        self.socket = pathlib.Path(directory or run_directory(), "pkgd.sock")

    def call(self, method, path, body=None, headers=None):
        """The result of one request."""
        connection = Connection(self.socket)
        try:
            connection.request(method, path, body and json.dumps(body),
                               {"Content-Type": "application/json", **(headers or {})})
            envelope = json.load(connection.getresponse())
        finally:
            connection.close()
        if envelope["type"] == "error":
            raise Refused(envelope["result"])
        return envelope["result"]

    def submit(self, **request):
        """The number of a new job. The key makes it safe to send the request twice."""
        return self.call("POST", "/v1/jobs", request, {"Idempotency-Key": str(uuid.uuid4())})["job"]

    def events(self, job):
        """Every event of a job, to its end; goes on where it was when the connection breaks."""
        last = "0"
        failures = 0
        while failures < 20:
            connection = Connection(self.socket)
            try:
                connection.request("GET", f"/v1/jobs/{job}/events", headers={"Last-Event-ID": last})
                answer = connection.getresponse()
                if answer.status != 200:
                    raise Refused(json.load(answer)["result"])
                for line in answer:
                    name, _, value = line.decode().rstrip("\n").partition(": ")
                    if name == "id":
                        last = value
                    elif name == "data":
                        failures = 0
                        event = json.loads(value)
                        yield event
                        if event["type"] == "result":
                            return
            except (http.client.HTTPException, TimeoutError, ConnectionError):
                pass  # the daemon is being restarted; the job goes on without it
            finally:
                connection.close()
            failures += 1
            time.sleep(0.5)
        raise ConnectionError(f"the events of job {job} cannot be read")


def main():
    client = Client()
    job = client.submit(action="install", requirements=sys.argv[1:], label="client.py")
    for event in client.events(job):
        if event["type"] == "status":
            print(event["text"])
        elif event["type"] == "card":
            print(event["text"], end="")
            print(f"pkg cards approve {event['card']}")
            return 75
        elif event["type"] == "result":
            print(event["status"], event["message"] or "")
            for change in event["changes"]:
                print(f"  {change['change']} {change['name']} {change['to'] or ''}")
            return 0 if event["status"] == "done" else 1
    return 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (Refused, OSError) as error:
        sys.exit(f"client.py: {error}")
