"""An asyncio service: streams.py PORT [URL...]. GETs URL + path of the request + "/" + n, one after the other
on connections of its own, then answers with the path. Keeps connections open."""
import asyncio
import sys
import urllib.parse


async def get(url):
    parts = urllib.parse.urlsplit(url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    writer.write(f"GET {parts.path} HTTP/1.1\r\nHost: {parts.netloc}\r\nConnection: close\r\n\r\n".encode())
    answer = await reader.read()
    writer.close()
    return answer


async def serve(reader, writer):
    try:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            path = head.split()[1]
            for line in head.split("\r\n"):
                if line.lower().startswith("content-length:"):
                    await reader.readexactly(int(line.partition(":")[2]))
            answers = [await get(f"{url}{path}/{n}") for n, url in enumerate(sys.argv[2:])]
            good = all(b" 200 " in answer.partition(b"\r\n")[0] for answer in answers)
            body = f"{path}\n"
            writer.write(f"HTTP/1.1 {200 if good else 503} OK\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", int(sys.argv[1]))
    async with server:
        await server.serve_forever()

asyncio.run(main())
