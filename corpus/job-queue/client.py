"""Writes to the web service and reads from it. Texts are stored as UTF-8."""
import http.client
import os
import urllib.parse

from filibuster_property import Client, Fail, Info, run

WEB = urllib.parse.urlsplit(os.environ["WEB_URL"])
TIMEOUT = 10  # seconds


def ask(method, path, body=None):
    """(status, bytes)"""
    connection = http.client.HTTPConnection(WEB.hostname, WEB.port, timeout=TIMEOUT)
    try:
        connection.request(method, path, body)
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


class JobQueue(Client):
    def write(self, value):
        try:
            status, body = ask("POST", "/", value.encode())
        except ConnectionRefusedError as error:
            raise Fail(error) from error
        except (OSError, http.client.HTTPException) as error:
            raise Info(repr(error)) from error
        if status == 503:  # the service has seen to it that nothing is stored
            raise Fail(f"503: {body.decode()}")
        if status != 200:
            raise Info(f"{status}: {body.decode(errors='replace')}")
        return int(body)

    def read(self, value):
        """What is there, or None. Whatever goes wrong has changed nothing."""
        try:
            status, body = ask("GET", f"/{value}")
        except (OSError, http.client.HTTPException) as error:
            raise Fail(repr(error)) from error
        if status == 404:
            return None
        if status != 200:
            raise Fail(status)
        return body.decode()

    def reset(self):
        status, body = ask("POST", "/reset")
        if status != 204:
            raise RuntimeError(f"the service was not reset: {status} {body.decode(errors='replace')}")


if __name__ == "__main__":
    run(JobQueue())
