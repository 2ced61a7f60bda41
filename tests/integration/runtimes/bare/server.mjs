// A server of Node: server.mjs PORT. For GET /NAME it calls BACK/NAME/0 and then BACK/NAME/1.
import http from 'node:http';

http.createServer(async (request, response) => {
  for (const number of [0, 1]) await (await fetch(`http://${process.env.BACK}${request.url}/${number}`)).text();
  response.end();
}).listen(Number(process.argv[2]), '127.0.0.1');
