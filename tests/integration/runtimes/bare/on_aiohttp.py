"""A server of aiohttp: on_aiohttp.py PORT. For GET /NAME it calls BACK/NAME/0 and then BACK/NAME/1."""
import os
import sys

from aiohttp import ClientSession, web


async def answer(request):
    async with ClientSession() as session:
        for number in (0, 1):
            async with session.get(f"http://{os.environ['BACK']}{request.path}/{number}") as response:
                await response.read()
    return web.Response()


application = web.Application()
application.router.add_get("/{name}", answer)
web.run_app(application, host="127.0.0.1", port=int(sys.argv[1]), print=None)
