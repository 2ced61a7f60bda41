"""An aiohttp service: plain.py PORT CLIENT BACK [KIND]. Makes two calls at the same time; 503 if one fails."""
import asyncio
import sys

from aiohttp import web

import server

port, client, back = int(sys.argv[1]), sys.argv[2], sys.argv[3]
kind = sys.argv[4] if len(sys.argv) > 4 else "GET"


async def answer(request):
    calls = [server.CLIENTS[client](f"{back}{request.path}/{n}", kind) for n in (0, 1)]
    results = await asyncio.gather(*calls, return_exceptions=True)
    return web.Response(status=503 if any(isinstance(result, Exception) for result in results) else 200)


application = web.Application()
application.router.add_get("/{path:.*}", answer)
web.run_app(application, host="127.0.0.1", port=port, print=None)
