// A service: `node starter.js PORT thread|child`: calls BACK/n from a worker thread, or from a child process.
'use strict';
const http = require('http');
const [port, how] = [Number(process.argv[2]), process.argv[3]];

const SCRIPT = `
  const http = require('http');
  const call = (url, done) => http.get(url, (response) => response.resume().on('end', () => done(response.statusCode)));
  const { parentPort } = require('worker_threads');
  if (parentPort) parentPort.on('message', (url) => call(url, (status) => parentPort.postMessage([url, status])));
  else call(process.argv[1], (status) => console.log(status));
`;

const call = {
  thread() {
    const { Worker } = require('worker_threads');
    const worker = new Worker(SCRIPT, { eval: true });
    const waiting = new Map();  // calls may end in another order than they began
    worker.on('message', ([url, status]) => waiting.get(url)(status));
    return (url, done) => {
      waiting.set(url, done);
      worker.postMessage(url);
    };
  },
  child() {
    const { execFile } = require('child_process');
    return (url, done) => execFile(process.execPath, ['-e', SCRIPT, url], (error, out) => done(error ?? Number(out)));
  },
}[how]();

http.createServer((request, response) => {
  call(process.env.BACK + request.url, (status) => response.end(`${status}\n`));
}).listen(port, '127.0.0.1');
