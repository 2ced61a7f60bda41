// Ways to make one GET, each with two call sites that a test can tell apart: `first` and `second`.
// Each answers a promise of {status, body}, or is rejected as the client is.
'use strict';
const http = require('http');
const net = require('net');

const read = (response) => new Promise((resolve, reject) => {
  let body = '';
  response.setEncoding('utf8');
  response.on('data', (text) => { body += text; });
  response.on('end', () => resolve({ status: response.statusCode, body }));
  response.on('error', reject);
});

const kept = new http.Agent({ keepAlive: true, maxSockets: 3 });

// http.get and http.request, callbacks only.
const byGet = {
  first: (url) => new Promise((resolve, reject) => {
    http.get(url, { agent: false }, (response) => resolve(read(response))).on('error', reject);  // site get-first
  }),
  second: (url) => new Promise((resolve, reject) => {
    const request = http.request(url, { agent: false }, (response) => resolve(read(response)));  // site get-second
    request.on('error', reject);
    request.end();
  }),
};

// Connections are kept and shared by the calls of all requests.
const byAgent = {
  first: (url) => new Promise((resolve, reject) => {
    http.get(url, { agent: kept }, (response) => resolve(read(response))).on('error', reject);  // site agent-first
  }),
  second: (url) => new Promise((resolve, reject) => {
    http.get(url, { agent: kept }, (response) => resolve(read(response))).on('error', reject);  // site agent-second
  }),
};

const byFetch = {
  async first(url) {
    const response = await fetch(url);  // site fetch-first
    return { status: response.status, body: await response.text() };
  },
  async second(url) {
    const response = await fetch(url, { method: 'POST', body: '{}' });  // site fetch-second
    return { status: response.status, body: await response.text() };
  },
};

// A library in the manner of axios: interceptors are promises, the request is made in a later tick, in a
// file of node_modules; the caller is known by the asynchronous stack.
const library = require('./node_modules/wrapper');
const byWrapper = {
  async first(url) {
    return await library.get(url);  // site wrapper-first
  },
  async second(url) {
    return await library.get(url);  // site wrapper-second
  },
};

// Each call waits for a reply on one connection of this process, which the first one opened; the request is
// made in the callback of the reply, as clients of databases do.
let shared;
const waiting = [];
const reply = (then) => {
  if (!shared) {
    shared = net.connect(Number(process.env.ECHO), '127.0.0.1');
    shared.on('data', (data) => { for (let i = 0; i < data.length; ++i) waiting.shift()(); });
  }
  waiting.push(then);
  shared.write('.');
};
const byCallback = {
  first: (url) => new Promise((resolve, reject) => reply(() => byGet.first(url).then(resolve, reject))),
  second: (url) => new Promise((resolve, reject) => reply(() => byGet.second(url).then(resolve, reject))),
};

module.exports = { callback: byCallback, get: byGet, agent: byAgent, fetch: byFetch, wrapper: byWrapper };
