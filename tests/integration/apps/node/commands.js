// A service that asks Redis twice for each request, all requests at the same time: none goes on before all are there.
// A timer of its own asks meanwhile, too.
//
// commands.js PORT NUMBER PORT-OF-REDIS PACKAGE (ioredis, redis)
'use strict';

const http = require('http');
const { createRequire } = require('module');

const [port, number, cache] = process.argv.slice(2, 5).map(Number);
const load = createRequire(`${process.env.PACKAGES}/`);

const connected = async () => {
  if (process.argv[5] === 'ioredis') {
    const { Redis } = load('ioredis');
    const client = new Redis({ host: '127.0.0.1', port: cache });
    await new Promise((resolve) => { client.on('ready', resolve); });
    return client;
  }
  return load('redis').createClient({ url: `redis://127.0.0.1:${cache}` }).connect();
};

let here = 0;
let release;
const everyone = new Promise((resolve) => { release = resolve; });

connected().then((client) => {
  http.createServer(async (request, response) => {
    if (request.url !== '/health') {
      if (++here === number) release();
      await everyone;
      const name = 'abcdefgh'[Number(request.url.slice(1))];
      await client.get(`${name}:first`); // site first
      await client.set(`${name}:second`, 'x'); // site second
    }
    response.writeHead(200, { 'Content-Length': 0 }).end();
  }).listen(port, '127.0.0.1');
  everyone.then(() => setInterval(() => client.incr('beats').catch(() => {}), 1)); // site beat
});
