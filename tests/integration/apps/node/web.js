// A service: `node web.js PORT`. Answers GET or POST /n after two calls, BACK/n/0 and BACK/n/1, made with the
// client CLIENT (clients.js), the second when the first has come back. ON_FAILURE: the status that it answers
// when a call fails. HEARTBEAT: a URL that is fetched every 5 ms, from the start on. BODY=late: the calls
// are made when the body of the request has come.
'use strict';
const http = require('http');
const clients = require('./clients.js');

const { BACK, CLIENT = 'get', HEARTBEAT, ON_FAILURE = '503' } = process.env;
const client = clients[CLIENT];

async function serve(path) {
  const first = await client.first(`${BACK}${path}/0`);
  if (first.status >= 400) throw new Error(`status ${first.status}`);
  const second = await client.second(`${BACK}${path}/1`);
  if (second.status >= 400) throw new Error(`status ${second.status}`);
  return first.body + second.body;
}

const server = http.createServer((request, response) => {
  const answer = () => serve(request.url).then(
    (body) => response.end(body),
    (error) => {
      response.statusCode = Number(ON_FAILURE);
      response.end(`${error.code ?? error.cause?.code ?? error.message}\n`);
    });
  if (process.env.BODY === 'late') request.resume().on('end', answer);
  else answer();
});

const beat = () => http.get(HEARTBEAT, (response) => response.resume()).on('error', () => {});
if (HEARTBEAT) {
  beat();
  setInterval(beat, 5);
}
server.listen(Number(process.argv[2]), '127.0.0.1');
