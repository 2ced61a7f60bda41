"""An application of ASGI that imports nothing but a client: for GET /NAME it calls BACK/NAME/0 and then BACK/NAME/1."""
import os

import httpx

client = httpx.AsyncClient()


async def application(scope, receive, send):
    if scope["type"] != "http":
        return
    for number in (0, 1):
        assert (await client.get(f"http://{os.environ['BACK']}{scope['path']}/{number}", timeout=60)).status_code == 200
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
    await send({"type": "http.response.body", "body": b""})
