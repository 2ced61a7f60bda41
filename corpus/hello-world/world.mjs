// World: greets the name that it is asked with.
import http from "node:http";

http
  .createServer((request, response) => {
    const name = new URL(request.url, "http://world").searchParams.get("name");
    const text = name === null ? "" : `hello ${name}`;
    response.writeHead(200, { "Content-Length": Buffer.byteLength(text) }).end(text);
  })
  .listen(Number(process.argv[2]), "127.0.0.1");
