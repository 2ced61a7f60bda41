// token.cjs PORT: GET /token/N says whether a token that expires N seconds after 1970 is valid, which day it is, and how many minutes local time is ahead.
require("node:http").createServer((request, response) => {
  const valid = Date.now() < 1000 * Number(request.url.split("/")[2]);
  response.setHeader("Content-Type", "application/json");
  const now = new Date();
  response.end(JSON.stringify({valid, day: now.toISOString().slice(0, 10), ahead: -now.getTimezoneOffset()}));
}).listen(Number(process.argv[2]), "127.0.0.1");
