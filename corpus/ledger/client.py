"""Asks the teller for transfers and balances."""
import http.client
import json
import os
import urllib.parse

from filibuster_property import Client, Fail, Info, run

TELLER = urllib.parse.urlsplit(os.environ["TELLER_URL"])
TIMEOUT = 10  # seconds


def ask(method, path, value=None):
    """(status, text)"""
    connection = http.client.HTTPConnection(TELLER.hostname, TELLER.port, timeout=TIMEOUT)
    try:
        connection.request(method, path, None if value is None else json.dumps(value))
        response = connection.getresponse()
        return response.status, response.read().decode()
    finally:
        connection.close()


class Ledger(Client):
    def transfer(self, value):
        try:
            status, text = ask("POST", "/transfer", value)
        except ConnectionRefusedError as error:
            raise Fail(error) from error
        except (OSError, http.client.HTTPException) as error:
            raise Info(repr(error)) from error
        if status == 503:  # nothing was written
            raise Fail(f"503: {text}")
        if status not in (200, 409):
            raise Info(f"{status}: {text}")
        return "done" if status == 200 else "refused"

    def balance(self, value):
        try:
            status, text = ask("GET", f"/balance/{value}")
        except (OSError, http.client.HTTPException) as error:
            raise Fail(repr(error)) from error
        if status != 200:
            raise Fail(status)
        return int(text)

    def reset(self):
        status, text = ask("POST", "/reset")
        if status != 204:
            raise RuntimeError(f"the accounts were not reset: {status} {text}")


if __name__ == "__main__":
    run(Ledger())
