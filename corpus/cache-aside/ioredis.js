// The shop on ioredis, which connects when it starts, and again by itself. TRANSACTION=1: what is written after a miss is
// one MULTI.
'use strict';

const { Redis } = require('ioredis');
const { serve, CACHE_TIMEOUT, RECONNECT_AFTER, KEPT } = require('./shop.js');

const [host, port] = process.env.CACHE.split(':');
const redis = new Redis({
  host,
  port: Number(port),
  connectTimeout: CACHE_TIMEOUT,
  socketTimeout: CACHE_TIMEOUT, // without an answer for so long the connection is given up
  enableOfflineQueue: false, // without a connection a command fails at once
  maxRetriesPerRequest: 0, // a connection that ends takes its commands along
  retryStrategy: () => RECONNECT_AFTER,
});
redis.on('error', () => {}); // each command says so itself

const filled = async (key, text, visits) => {
  if (process.env.TRANSACTION !== '1') {
    await redis.set(key, text, 'EX', KEPT);
    return redis.incr(visits);
  }
  const results = await redis.multi().set(key, text, 'EX', KEPT).incr(visits).exec();
  const failed = results.find(([error]) => error);
  if (failed) throw failed[0];
  return results[1][1];
};

const cache = {
  get: (key) => redis.get(key),
  fill: filled,
  count: (visits) => redis.incr(visits),
};

// The first connection stands, or does not: the shop opens in either case.
const open = () => {
  redis.off('ready', open).off('close', open);
  serve(cache);
};
redis.on('ready', open).on('close', open);
