// gateway.js PORT BACK PAGES: calls.Calls, and matrix.Web, whose messages are texts.
//
// "@/KIND/ID@" is answered with itself, after calls of BACK with @/KIND/ID/0@, of itself with @/KIND/ID/self@ (whose own
// call is @/KIND/ID/self/0@), of BACK with @/KIND/ID/1@. With BEAT in the environment a background caller calls BACK with
// @/background/NUMBER@ every 5 ms. Anything else is a command, answered with what came of it: commands.js.
'use strict';

const grpc = require('@grpc/grpc-js');
const http = require('http');
const { callsService, run } = require('./commands.js');

const [port, back, pages] = process.argv.slice(2);

const text = { requestSerialize: Buffer.from, requestDeserialize: String, responseSerialize: Buffer.from, responseDeserialize: String };
const Web = grpc.makeGenericClientConstructor({
  get: { path: '/matrix.Web/Get', requestStream: false, responseStream: false, ...text },
  list: { path: '/matrix.Web/List', requestStream: false, responseStream: true, ...text },
  talk: { path: '/matrix.Web/Talk', requestStream: true, responseStream: true, ...text },
});
const clientOf = (address) => new Web(address, grpc.credentials.createInsecure());
const clients = { back: clientOf(`127.0.0.1:${back}`), own: clientOf(`127.0.0.1:${port}`) };

const steps = (message) => {
  const path = message.replaceAll('@', '');
  const first = ['back', `@${path}/0@`];
  return path.endsWith('/self') ? [first] : [first, ['own', `@${path}/self@`], ['back', `@${path}/1@`]];
};

const promised = (client, message) => new Promise((resolve, reject) => {
  clients[client].get(message, (problem, answer) => (problem ? reject(problem) : resolve(answer)));  // site promise
});

const only = (stream) => new Promise((resolve, reject) => {
  let answer;
  stream.on('data', (message) => { answer = message; }).on('end', () => resolve(answer)).on('error', reject);
});

const KINDS = {
  promise: promised,
  stream: (client, message) => (client === 'own' ? promised(client, message) : only(clients[client].list(message))),  // site stream
  talk: (client, message) => {
    if (client === 'own') return promised(client, message);
    const call = clients[client].talk();  // site talk
    call.end(message);
    return only(call);
  },
  timer: (client, message) => new Promise((resolve) => { setTimeout(resolve, 1); }).then(() => promised(client, message)),
  http: (client, message) => (client === 'own' ? promised(client, message) : new Promise((resolve, reject) => {
    http.get(`http://127.0.0.1:${pages}${message.replaceAll('@', '')}`, (response) => {  // site http
      response.on('end', () => resolve(message)).resume();
    }).on('error', reject);
  })),
};

// Each call is made by the callback of the one before.
const chain = (message, [step, ...rest], callback) => {
  if (step === undefined) {
    callback(null, message);
    return;
  }
  clients[step[0]].get(step[1], (problem) => {  // site callback
    if (problem) callback(problem);
    else chain(message, rest, callback);
  });
};

const answer = async (message) => {
  if (!message.startsWith('@')) return run(message.split(' '), back);
  for (const [client, wanted] of steps(message)) {
    const given = await KINDS[message.split('/')[1]](client, wanted);
    if (given !== wanted) throw new Error(given);
  }
  return message;
};

const server = new grpc.Server();
server.addService(callsService.definition, callsService.implementation);
server.addService({ get: Web.service.get }, {
  get: ({ request }, callback) => {
    if (request.startsWith('@/callback/')) chain(request, steps(request), callback);
    else answer(request).then((given) => callback(null, given), callback);
  },
});
server.bindAsync(`127.0.0.1:${port}`, grpc.ServerCredentials.createInsecure(), (problem) => {
  if (problem) throw problem;
  console.log('serving');
});

let number = 0;
if (process.env.BEAT) {
  setInterval(() => {
    clients.back.get(`@/background/${number++}@`, () => {});
  }, 5);
}
