"""Writes to the primary and reads from the replica."""
import http.client
import json
import os
import urllib.parse

from filibuster_property import Client, Fail, Info, run

TIMEOUT = 10  # seconds


def ask(url, method, path, value=None):
    """(status, value)"""
    where = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(where.hostname, where.port, timeout=TIMEOUT)
    try:
        connection.request(method, path, None if value is None else json.dumps(value), {"Content-Type": "application/json"})
        response = connection.getresponse()
        body = response.read()
        return response.status, json.loads(body) if body else None
    finally:
        connection.close()


class Store(Client):
    def put(self, value):
        try:
            status, said = ask(os.environ["PRIMARY_URL"], "PUT", f"/keys/{value['key']}", {"value": value["value"]})
        except ConnectionRefusedError as error:
            raise Fail(error) from error
        except (OSError, http.client.HTTPException) as error:
            raise Info(repr(error)) from error
        if status == 503:  # the primary says that it was not done
            raise Fail(f"503: {said}")
        if status != 204:
            raise Info(f"{status}: {said}")

    def get(self, value):
        try:
            status, said = ask(os.environ["REPLICA_URL"], "GET", f"/keys/{value}")
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise Fail(repr(error)) from error
        if status == 404:
            return None
        if status != 200:
            raise Fail(status)
        return said["value"]

    def reset(self):
        status, _ = ask(os.environ["PRIMARY_URL"], "POST", "/reset")
        if status != 204:
            raise RuntimeError(f"the store was not reset: {status}")


if __name__ == "__main__":
    run(Store())
