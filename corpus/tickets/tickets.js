// tickets.js PORT: the same as tickets.py, on ioredis, with the same regressions.
'use strict';

const crypto = require('crypto');
const http = require('http');
const { Redis } = require('ioredis');

const { CACHE, CATALOG_URL, KEY, BUG = '', POOL = '4' } = process.env;
const CURRENCY = BUG === 'query' ? 'usd' : 'eur';
const DRAWS = 32;
const TOKEN_LASTS = 3600; // seconds

const [host, port] = CACHE.split(':');
const caches = Array.from({ length: Number(POOL) }, () => new Redis({ host, port: Number(port), maxRetriesPerRequest: 0 }));
for (const each of caches) each.on('error', () => {}); // each command says so itself
let turn = 0;
const cache = () => caches[turn++ % caches.length];
const agent = new http.Agent({ keepAlive: true, maxSockets: Number(POOL) });
const events = new Map(); // what the catalog has said of an event

// The answer to a request that cannot go on.
class Failed extends Error {
  constructor(status, why) {
    super(why);
    this.status = status;
  }
}

const ask = (path) => new Promise((resolve, reject) => {
  const request = http.get(CATALOG_URL + path, { agent }, (response) => {
    let text = '';
    response.setEncoding('utf8').on('data', (piece) => { text += piece; });
    response.on('error', reject);
    response.on('end', () => (response.statusCode === 200
      ? resolve(JSON.parse(text)) : reject(new Failed(response.statusCode, 'the catalog has no such thing'))));
  });
  request.on('error', () => reject(new Failed(502, 'the catalog does not answer')));
});

const price = async (event) => {
  const found = await cache().get(`event:${event}`);
  if (found !== null) return Number(found);
  const { cents } = await ask(`/events/${event}?currency=${CURRENCY}`);
  await cache().set(`event:${event}`, cents);
  return cents;
};

const sell = async ({ event, seats }) => {
  if (!Number.isInteger(event) || !Number.isInteger(seats)) throw new Failed(400, 'the request is not understood');
  if (BUG === 'exchanged') await cache().incr(`sold:${event}`);
  const total = await price(event) * seats;
  if (BUG === 'extra') await cache().get(`discount:${event}`);
  if (BUG !== 'exchanged') await cache().incr(`sold:${event}`);
  const code = crypto.randomUUID();
  if (BUG !== 'dropped') await cache().set(`ticket:${code}`, `${event}:${seats}:${total}`);
  return [201, { code, event, [BUG === 'field' ? 'places' : 'seats']: seats, total, issued: new Date().toISOString() }];
};

const eventOf = async (number) => {
  if (!events.has(number)) events.set(number, await ask(`/events/${number}?currency=${CURRENCY}`));
  return [200, events.get(number)];
};

const opening = async () => {
  const now = new Date();
  const open = now.getUTCHours() >= 8 && now.getUTCHours() < 20 && now.getUTCDay() !== 0;
  const day = now.toLocaleDateString('en', { weekday: 'long', timeZone: 'UTC' });
  return [200, { open, day, desk: await cache().get(open ? 'desk:day' : 'desk:night') }];
};

// As many calls as draws were lucky: nothing that a replay can know.
const lucky = async () => {
  const calls = [];
  for (let draw = 0; draw < DRAWS; ++draw) {
    if (Math.random() < 0.5) calls.push(await cache().incr('lucky'));
  }
  return [200, { calls }];
};

const encoded = (text) => Buffer.from(text).toString('base64url');
const signed = (text) => crypto.createHmac('sha256', KEY).update(text).digest('base64url');

const login = ({ name }) => {
  const text = `${encoded('{"alg":"HS256","typ":"JWT"}')}.${encoded(JSON.stringify({ sub: name, exp: Math.floor(Date.now() / 1000) + TOKEN_LASTS }))}`;
  return [200, { token: `${text}.${signed(text)}` }];
};

const me = async (authorization = '') => {
  const [head, body, signature] = authorization.replace(/^Bearer /, '').split('.');
  if (signature !== signed(`${head}.${body}`)) return [401, { error: 'the signature is wrong' }];
  const claims = JSON.parse(Buffer.from(body, 'base64url'));
  if (claims.exp <= Date.now() / 1000) return [401, { error: 'the token has expired' }];
  return [200, { name: claims.sub, tickets: Number(await cache().get(`tickets-of:${claims.sub}`) ?? 0) }];
};

const ROUTES = [
  [/^GET \/health$/, () => [200, {}]],
  [/^POST \/tickets$/, (_, { body }) => sell(JSON.parse(body))],
  [/^POST \/login$/, (_, { body }) => login(JSON.parse(body))],
  [/^GET \/me$/, (_, { request }) => me(request.headers.authorization)],
  [/^GET \/events\/(\d+)$/, eventOf],
  [/^GET \/sales\/(\d+)$/, async (event) => [200, { event: Number(event), sold: Number(await cache().get(`sold:${event}`) ?? 0) }]],
  [/^GET \/quotes\/(\d+)$/, async (event) => [200, await ask(`/quotes/${event}`)]],
  [/^GET \/open$/, opening],
  [/^GET \/lucky$/, lucky],
];

const answer = async (request, body) => {
  const asked = `${request.method} ${request.url}`;
  const [pattern, handle] = ROUTES.find(([each]) => each.test(asked)) ?? [/^/, () => [404, {}]];
  try {
    return await handle(asked.match(pattern)[1], { request, body });
  } catch (error) {
    if (error instanceof Failed) return [error.status, { error: error.message }];
    return error instanceof SyntaxError ? [400, { error: 'the request is not understood' }] : [502, { error: 'the cache does not answer' }];
  }
};

http.createServer(async (request, response) => {
  let body = '';
  for await (const piece of request.setEncoding('utf8')) body += piece;
  const [status, value] = await answer(request, body);
  const text = JSON.stringify(value);
  response.writeHead(status, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) }).end(text);
}).listen(Number(process.argv[2]), '127.0.0.1');
