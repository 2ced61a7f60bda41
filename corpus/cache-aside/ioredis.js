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
  commandTimeout: CACHE_TIMEOUT,
  disconnectTimeout: 0, // what does not answer is not waited for at its end either
  enableOfflineQueue: false, // without a connection a command fails at once
  maxRetriesPerRequest: 0, // a connection that ends takes its commands along
  retryStrategy: () => RECONNECT_AFTER,
});
redis.on('error', () => {}); // each command says so itself

// A connection that did not answer in time is given up. (The library does so by itself with its option socketTimeout, but the
// timer of a connection that was reset then ends the next one.)
const inTime = async (command) => {
  try {
    return await command;
  } catch (error) {
    if (error.message === 'Command timed out') redis.disconnect(true);
    throw error;
  }
};

const fillTogether = async (key, text, visits) => {
  const results = await inTime(redis.multi().set(key, text, 'EX', KEPT).incr(visits).exec());
  const failed = results.find(([error]) => error);
  if (failed) throw failed[0];
  return results[1][1];
};

const cache = {
  get: (key) => inTime(redis.get(key)),
  fill: async (key, text, visits) => {
    if (process.env.TRANSACTION === '1') return fillTogether(key, text, visits);
    await inTime(redis.set(key, text, 'EX', KEPT));
    return inTime(redis.incr(visits));
  },
  count: (visits) => inTime(redis.incr(visits)),
};

// The first connection stands, or does not: the shop opens in either case.
const open = () => {
  redis.off('ready', open).off('close', open);
  serve(cache);
};
redis.on('ready', open).on('close', open);
