"""One GET with the client library that is named, with a timeout of 1 s; prints what the application gets:
"200 2000 bytes", or the exception's class.

get_client.py LIBRARY URL"""
import sys

library, url = sys.argv[1:]
TIMEOUT = 1


def tell(status, body):
    whole = body == (b"0123456789" * 200)
    print(status, len(body), "bytes" + ("" if whole or status != 200 else " changed"), flush=True)


def get_requests():
    import requests
    answer = requests.get(url, timeout=TIMEOUT)
    tell(answer.status_code, answer.content)


def get_urllib():
    import urllib.request
    with urllib.request.urlopen(url, timeout=TIMEOUT) as answer:
        tell(answer.status, answer.read())


def get_httpx():
    import httpx
    answer = httpx.get(url, timeout=TIMEOUT)
    tell(answer.status_code, answer.content)


def get_aiohttp():
    import asyncio

    import aiohttp

    async def go():
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=TIMEOUT)) as session:
            async with session.get(url) as answer:
                tell(answer.status, await answer.read())
    asyncio.run(go())


try:
    globals()["get_" + library]()
except Exception as error:  # noqa: BLE001: its class is what is looked at
    name = type(error).__name__
    reason = getattr(error, "reason", None)
    if isinstance(reason, BaseException):
        name += " of " + type(reason).__name__
    print(name + (f" {error.code}" if hasattr(error, "code") else ""), flush=True)
