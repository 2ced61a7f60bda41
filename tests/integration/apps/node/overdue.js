// A service: `node overdue.js PORT BACK`. Answers 200 after a call of BACK/, 503 if that fails. Another call, BACK/left, is
// left by each request to be made while the next one is served.
'use strict';
const http = require('http');

const [port, back] = process.argv.slice(2);
let leftToDo = () => Promise.resolve();

const ask = (path) => new Promise((resolve) => {
  http.get(`${back}${path}`, { agent: false }, (response) => response.resume().on('end', () => resolve(response.statusCode)))
    .on('error', () => resolve(503));
});

function leave(work) {
  let tell;
  const told = new Promise((resolve) => { tell = resolve; });
  const done = told.then(work);
  return () => { tell(); return done; };
}

http.createServer(async (request, response) => {
  await leftToDo();
  leftToDo = leave(() => ask('/left'));
  response.statusCode = await ask('/') === 200 ? 200 : 503;
  response.end();
}).listen(Number(port), '127.0.0.1');
