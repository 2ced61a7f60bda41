// The shop on node-redis, which connects when it is told to, and again by itself; it speaks RESP3.
'use strict';

const { once } = require('events');
const { createClient } = require('redis');
const { serve, CACHE_TIMEOUT, RECONNECT_AFTER, KEPT } = require('./shop.js');

const connect = () => {
  const made = createClient({
    url: `redis://${process.env.CACHE}`,
    RESP: 3,
    disableOfflineQueue: true, // without a connection a command fails at once
    socket: { connectTimeout: CACHE_TIMEOUT, reconnectStrategy: () => RECONNECT_AFTER },
  });
  made.on('error', () => {}); // each command says so itself
  made.connect().catch(() => {});
  return made;
};

let client = connect();

// The library's own timeouts end when a command is written: a connection that does not answer is given up here.
const inTime = async (command) => {
  const asked = client;
  let timer;
  const late = new Promise((resolve, reject) => {
    timer = setTimeout(() => {
      reject(new Error('timeout'));
      if (asked !== client) return;
      client = connect();
      asked.destroy();
    }, CACHE_TIMEOUT);
  });
  try {
    return await Promise.race([command(asked), late]);
  } finally {
    clearTimeout(timer);
  }
};

const cache = {
  get: (key) => inTime((redis) => redis.get(key)),
  fill: async (key, text, visits) => {
    await inTime((redis) => redis.set(key, text, { expiration: { type: 'EX', value: KEPT } }));
    return inTime((redis) => redis.incr(visits));
  },
  count: (visits) => inTime((redis) => redis.incr(visits)),
};

// The first connection stands, or does not: the shop opens in either case.
inTime((redis) => once(redis, 'ready')).catch(() => {}).finally(() => serve(cache));
