"""A service of the matrix, on any server and with any client of Python: server.py SERVER CLIENT PORT BACK

GET /n calls BACK/n/0, then itself at /n/self, which calls BACK/n/self/0, then BACK/n/1; answers n. The calls are GETs
and POSTs, whose head and body go out in one write or in two, as far as the client lets one choose. A background
caller GETs BACK/background/<number> every 5 ms, in a task of the loop or a thread. SERVER: werkzeug, gunicorn
(the app is `app()`), aiohttp, uvicorn, streams, uvloop. CLIENT: http.client, urllib3, requests, aiohttp, httpx,
streams, and in a pool: to_thread, executor, thread.
"""
import asyncio
import concurrent.futures
import http.client
import io
import itertools
import os
import re
import sys
import threading
import time
import urllib.parse

BACK = os.environ.get("BACK", "")
CLIENT = os.environ.get("CLIENT", "http.client")
OWN = os.environ.get("OWN", "")


# --- clients ------------------------------------------------------------------------------------------

KINDS = ("GET", "one", "two")
BODY = b"name=value&" * 20


def method_of(kind):
    return "GET" if kind == "GET" else "POST"


def body_of(kind):
    """What blocking clients send with the head, or what they send after it."""
    return {"GET": None, "one": BODY, "two": io.BytesIO(BODY)}[kind]


def headers_of(kind):
    return {"Content-Length": str(len(BODY))} if kind == "two" else {}


def by_http_client(url, kind="GET"):
    parts = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=60)
    connection.request(method_of(kind), parts.path, body_of(kind), headers_of(kind))
    response = connection.getresponse()
    response.read()
    connection.close()
    assert response.status == 200


def by_requests(url, kind="GET"):
    import requests
    assert requests.request(method_of(kind), url, data=body_of(kind), timeout=60).status_code == 200


def by_urllib3(url, kind="GET"):
    import urllib3
    if not hasattr(by_urllib3, "pool"):
        by_urllib3.pool = urllib3.PoolManager(maxsize=32)
    assert by_urllib3.pool.request(method_of(kind), url, body=body_of(kind), headers=headers_of(kind)).status == 200


def by_thread(url, kind="GET"):
    """Each call on a thread of its own."""
    thread = threading.Thread(target=by_http_client, args=(url, kind))
    thread.start()
    thread.join()


def by_pool(url, kind="GET"):
    if not hasattr(by_pool, "pool"):
        by_pool.pool = concurrent.futures.ThreadPoolExecutor(16)
    by_pool.pool.submit(by_http_client, url, kind).result()


def by_gevent(url, kind="GET"):
    """Each call in a greenlet that the handler spawns, which spawns another one."""
    import gevent
    gevent.spawn(lambda: gevent.spawn(by_http_client, url, kind).get()).get()


async def by_streams(url, kind="GET"):
    parts = urllib.parse.urlsplit(url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    length = "" if kind == "GET" else f"Content-Length: {len(BODY)}\r\n"
    head = f"{method_of(kind)} {parts.path} HTTP/1.1\r\nHost: {parts.netloc}\r\n{length}Connection: close\r\n\r\n"
    writer.write(head.encode() + (BODY if kind == "one" else b""))
    if kind == "two":
        await asyncio.sleep(0)  # others have their turn
        writer.write(BODY)
    assert b" 200 " in (await reader.read()).partition(b"\r\n")[0]
    writer.close()


# Both of these send a body one turn of the loop after its head, whatever it is; what is like a file, aiohttp reads in a
# pool of threads meanwhile.

async def by_aiohttp(url, kind="GET"):
    import aiohttp
    if not hasattr(by_aiohttp, "session"):
        by_aiohttp.session = aiohttp.ClientSession()
    async with by_aiohttp.session.request(method_of(kind), url, data=body_of(kind)) as response:
        assert response.status == 200
        await response.read()


async def by_httpx(url, kind="GET"):
    import httpx
    if not hasattr(by_httpx, "client"):
        by_httpx.client = httpx.AsyncClient(timeout=60, limits=httpx.Limits(max_connections=None))
    content = None if kind == "GET" else BODY
    assert (await by_httpx.client.request(method_of(kind), url, content=content)).status_code == 200


async def by_to_thread(url, kind="GET"):
    await asyncio.to_thread(by_http_client, url, kind)


async def by_executor(url, kind="GET"):
    await asyncio.get_running_loop().run_in_executor(None, by_requests, url, kind)


async def by_gather(url, kind="GET"):
    """In a task of its own."""
    await asyncio.gather(by_streams(url, kind), asyncio.sleep(0))


CLIENTS = {"http.client": by_http_client, "requests": by_requests, "urllib3": by_urllib3, "thread": by_thread,
           "pool": by_pool, "gevent": by_gevent, "streams": by_streams, "aiohttp": by_aiohttp, "httpx": by_httpx,
           "to_thread": by_to_thread, "executor": by_executor, "gather": by_gather}


def calls_of(path):
    urls = [f"{BACK}{path}/0"] if path.endswith("/self") else [f"{BACK}{path}/0", f"{OWN}{path}/self", f"{BACK}{path}/1"]
    first = sum(map(int, re.findall("[0-9]+", path)))
    return [(url, KINDS[(first + n) % len(KINDS)]) for n, url in enumerate(urls)]


# --- what the servers call --------------------------------------------------------------------------------

def serve(path):
    for url, kind in calls_of(path):
        CLIENTS[CLIENT](url, kind)


async def serve_async(path):
    for url, kind in calls_of(path):
        await CLIENTS[CLIENT](url, kind)


def beat():
    for number in itertools.count():
        try:
            by_http_client(f"{BACK}/background/{number}")
        except OSError:
            pass
        time.sleep(0.005)


async def beat_async():
    for number in itertools.count():
        try:
            await by_streams(f"{BACK}/background/{number}")
        except OSError:
            pass
        await asyncio.sleep(0.005)


# --- servers ------------------------------------------------------------------------------------------------

def app():
    import flask
    made = flask.Flask("matrix")

    @made.route("/<path:path>", methods=["GET", "POST"])
    def answer(path):
        flask.request.get_data()
        serve("/" + path)
        return path

    threading.Thread(target=beat, daemon=True).start()
    return made


def by_werkzeug(port):
    app().run("127.0.0.1", port, threaded=True)


def on_aiohttp(port):
    from aiohttp import web

    async def answer(request):
        await request.read()
        await serve_async(request.path)
        return web.Response(text=request.path)

    async def start(application):
        await enough_threads()
        application["beat"] = asyncio.create_task(beat_async())

    application = web.Application()
    application.router.add_route("*", "/{path:.*}", answer)
    application.on_startup.append(start)
    web.run_app(application, host="127.0.0.1", port=port, print=None)


async def on_asgi(scope, receive, send):
    if scope["type"] == "lifespan":
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                await enough_threads()
                on_asgi.beat = asyncio.create_task(beat_async())
            await send({"type": message["type"] + ".complete"})
            if message["type"] == "lifespan.shutdown":
                return
    while (await receive()).get("more_body"):
        pass
    await serve_async(scope["path"])
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
    await send({"type": "http.response.body", "body": b""})


def on_uvicorn(port, loop="asyncio"):
    import uvicorn
    uvicorn.run(on_asgi, host="127.0.0.1", port=port, log_level="warning", loop=loop)


def on_fastapi(port):
    import fastapi
    import uvicorn
    application = fastapi.FastAPI()

    @application.on_event("startup")
    async def start():
        application.state.beat = asyncio.create_task(beat_async())

    # Plain functions run in the framework's pool of threads.
    if asyncio.iscoroutinefunction(CLIENTS[CLIENT]):
        @application.api_route("/{path:path}", methods=["GET", "POST"])
        async def answer(path: str, request: fastapi.Request):
            await request.body()
            await serve_async("/" + path)
            return path
    else:
        @application.api_route("/{path:path}", methods=["GET", "POST"])
        def answer_in_pool(path: str):
            serve("/" + path)
            return path
    uvicorn.run(application, host="127.0.0.1", port=port, log_level="warning", loop="asyncio")


async def enough_threads():
    """Every request holds a thread while it calls itself: the default would be used up at 8 in flight."""
    asyncio.get_running_loop().set_default_executor(concurrent.futures.ThreadPoolExecutor(32))


async def on_streams(port):
    await enough_threads()
    async def answer(reader, writer):
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                length = re.search(r"content-length: (\d+)", head.lower())
                await reader.readexactly(int(length[1]) if length else 0)
                await serve_async(head.split()[1])
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
                await writer.drain()
                if "connection: close" in head.lower():
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", port)
    own = asyncio.create_task(beat_async())
    async with server:
        await server.serve_forever()
    own.cancel()


if __name__ == "__main__":
    kind, CLIENT, number, BACK = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
    OWN = f"http://127.0.0.1:{number}"
    {"werkzeug": by_werkzeug, "aiohttp": on_aiohttp, "uvicorn": on_uvicorn, "fastapi": on_fastapi,
     "uvloop": lambda at: on_uvicorn(at, "uvloop"), "streams": lambda at: asyncio.run(on_streams(at))}[kind](number)
