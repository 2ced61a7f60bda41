// Commands that a channel of its own carries out, and the service that they call, calls.Calls (as calls_server.cc has it).
//
//   kinds STUB        one call of each kind, and one that the server refuses
//   threads STUB T N  T times N calls, one after the other; what did not succeed
//   silent STUB       a call with a deadline of two seconds between two of another method: what the first call of all takes is
//                     not measured
//   retries STUB N    N calls, each tried four times where it is UNAVAILABLE
'use strict';

const grpc = require('@grpc/grpc-js');
const path = require('path');
const { loadSync } = require('@grpc/proto-loader');

const { Calls } = grpc.loadPackageDefinition(loadSync(path.join(__dirname, '../http2/calls.proto'), { longs: Number })).calls;
const SECONDS = 20;  // a call that takes longer hangs

const within = (milliseconds) => ({ deadline: Date.now() + milliseconds });

const implementation = {
  double: ({ request }, callback) => {
    if (request.value < 0) callback({ code: grpc.status.INVALID_ARGUMENT, details: 'below zero: 50 % offä' });
    else callback(null, { ...request, value: 2 * request.value });
  },
  sum: (call, callback) => {
    let sum = 0;
    call.on('data', ({ value }) => { sum += value; }).on('end', () => callback(null, { value: sum }));
  },
  count: (call) => {
    for (let value = 1; value <= call.request.value; ++value) call.write({ value });
    call.end();
  },
  negate: (call) => {
    call.on('data', ({ value }) => call.write({ value: -value })).on('end', () => call.end());
  },
};

const twice = (client, number, milliseconds) => new Promise((resolve, reject) => {
  client.double(number, within(milliseconds), (problem, answer) => (problem ? reject(problem) : resolve(answer)));  // site double
});

const told = async (what, call) => {
  try {
    return `${what} 0 [] ${await call()}\n`;
  } catch (problem) {
    if (problem.code === undefined) throw problem;
    return `${what} ${problem.code} [${problem.details}] 0\n`;
  }
};

const collected = (stream) => new Promise((resolve, reject) => {
  let all = '';
  stream.on('data', ({ value }) => { all += `${value},`; }).on('end', () => resolve(all)).on('error', reject);
});

const count = (client) => collected(client.count({ value: 4 }, within(1000 * SECONDS)));  // site count

const kinds = async (client) => {
  let all = '';
  for (const value of [21, -1]) all += await told('double', async () => (await twice(client, { value }, 1000 * SECONDS)).value);
  all += await told('sum', () => new Promise((resolve, reject) => {
    const call = client.sum(within(1000 * SECONDS), (problem, answer) => (problem ? reject(problem) : resolve(answer.value)));  // site sum
    for (const value of [1, 2, 3, 4, 5]) call.write({ value });
    call.end();
  }));
  all += await told('count', () => count(client));
  all += await told('negate', () => {
    const call = client.negate(within(1000 * SECONDS));  // site negate
    let next = 1;
    const write = () => {
      if (next <= 3) call.write({ value: next++ });
      else call.end();
    };
    call.on('data', write);
    write();
    return collected(call);
  });
  return all;
};

const threads = async (client, count, each) => {
  const failed = new Map();
  await Promise.all(Array.from({ length: count }, async (_, t) => {
    for (let value = t * each + 1; value <= (t + 1) * each; ++value) {
      try {
        const answer = await twice(client, { value, ballast: Buffer.from(`${value}|`) }, 1000 * SECONDS);
        if (answer.value !== 2 * value || String(answer.ballast) !== `${value}|`) failed.set(value, 'wrong');
      } catch (problem) {
        failed.set(value, problem.code);
      }
    }
  }));
  const wrong = [...failed.values()].filter((code) => code === 'wrong').length;
  const lines = [...failed].sort(([a], [b]) => a - b).map(([value, code]) => `${value}: ${code}\n`);
  return `good ${count * each - failed.size} wrong ${wrong} failed ${failed.size - wrong}\n${lines.join('')}`;
};

const silent = async (client) => {
  const before = await told('count', () => count(client));
  const all = await told('double', async () => (await twice(client, { value: 1 }, 2000)).value);
  return before + all + await told('count', () => count(client));
};

const RETRIES = { methodConfig: [{ name: [{ service: 'calls.Calls' }], retryPolicy: {
  maxAttempts: 4, initialBackoff: '0.01s', maxBackoff: '0.02s', backoffMultiplier: 1, retryableStatusCodes: ['UNAVAILABLE'] } }] };

const run = async ([command, , ...numbers], port) => {
  const options = command === 'retries' ? { 'grpc.service_config': JSON.stringify(RETRIES) } : { 'grpc.enable_retries': 0 };
  // A channel of its own: a pool would share the connections of all of them.
  const client = new Calls(`127.0.0.1:${port}`, grpc.credentials.createInsecure(), { ...options, 'grpc.use_local_subchannel_pool': 1 });
  try {
    switch (command) {
      case 'kinds': return await kinds(client);
      case 'threads': return await threads(client, ...numbers.map(Number));
      case 'silent': return await silent(client);
      case 'retries': return await threads(client, 1, Number(numbers[0]));
      default: return `${command}?\n`;
    }
  } finally {
    client.close();
  }
};

module.exports = { callsService: { definition: Calls.service, implementation }, run };
