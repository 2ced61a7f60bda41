// Runs in Node before the program (environment.cc puts it into NODE_OPTIONS), in its main thread and in its
// workers. Tells libfilibuster.so, for each request that the program makes over HTTP, and for each command that
// it writes to a database, where it was made (the stack of the call) and which incoming request it is made for
// (AsyncLocalStorage).
//
// draws.cjs stands behind it in the script that is built.
//
// The script is a guest: nothing here throws into the program. Without a session nothing is patched; three
// subscriptions to diagnostics channels ask the library whether a session is there.
'use strict';

// NODE_OPTIONS is --require "PATH"[ BEFORE]. The program and its children see only what was there before us.
const asked = /^--require "(?:[^"\\]|\\.)*\/filibuster\/node\.cjs"( ?)([^]*)$/.exec(process.env.NODE_OPTIONS ?? '');
if (asked !== null) {
  if (asked[1] === '') delete process.env.NODE_OPTIONS;
  else process.env.NODE_OPTIONS = asked[2];
}
delete require.cache[__filename];

const library = (() => {
  const loaded = { exports: {} };
  try {
    // RTLD_LAZY | RTLD_NOLOAD: only what is preloaded, never a second copy of it.
    process.dlopen(loaded, require('path').join(__dirname, '..', 'libfilibuster.so'), 1 | 4);
  } catch {
    return undefined;
  }
  return typeof loaded.exports.leave === 'function' ? loaded.exports : undefined;
})();

if (library !== undefined) {
  const { AsyncLocalStorage, AsyncResource } = require('async_hooks');
  const channel = require('diagnostics_channel').channel;
  const { fileURLToPath } = require('url');
  const FIELD = 'x-filibuster';
  const MAX_FRAMES = 64;
  // The AWS SDK v2 has about 80 of its own below the program's. So deep is looked where none of the program is among the first.
  const DEEPEST = 512;
  const MAX_SITES = 8192;

  // The store is {context, site, entry, connecting}. `context` is a text as in addon.cc. `site` is the call that
  // the current asynchronous operation carries out: a connect has it long after the call has returned. `entry`
  // is the descriptor that a request without our field came from, whose context changes with its body (else -1).
  // `connecting` is set for the callbacks of a connection: the store of the task that opened it.
  const tasks = new AsyncLocalStorage();
  let used = false;
  const contextNow = () => {
    const task = tasks.getStore();
    if (task === undefined) return '-';
    if (task.entry >= 0) task.context = library.entryNow(task.entry, task.context) ?? task.context;
    return task.context;
  };
  const callNow = () => ({ context: contextNow(), site: siteNow(), entry: tasks.getStore()?.entry ?? -1 });

  const guarded = (action) => (message) => {
    try {
      action(message);
    } catch {
      // The cause stays unknown then.
    }
  };

  const guardedPair = (action) => (first, second) => {
    try {
      action(first, second);
    } catch {
      // The cause stays unknown then.
    }
  };

  // --- where -------------------------------------------------------------------------------------

  const sites = new Map();         // text -> what the library calls it
  const libraryFiles = new Map();  // file -> do its frames not count?

  let listed = 0;  // version of the frame lists that the maps were filled by
  const forgetOtherLists = () => {
    const now = library.framesVersion();
    if (now === listed) return;
    listed = now;
    sites.clear();
    libraryFiles.clear();
  };

  // Modules that `import` loads are named by URL: "file:///srv/my%20shop/web.mjs".
  const paths = new Map();
  const pathOf = (url) => {
    if (!url.startsWith('file://')) return url;
    let path = paths.get(url);
    if (path === undefined) {
      try {
        path = fileURLToPath(url);
      } catch {
        path = url.slice('file://'.length);
      }
      if (paths.size < MAX_SITES) paths.set(url, path);
    }
    return path;
  };

  const isLibrary = (file) => {
    let known = libraryFiles.get(file);
    if (known === undefined) {
      known = file.startsWith('node:') || file === __filename || library.isLibrary(pathOf(file));
      libraryFiles.set(file, known);
    }
    return known;
  };

  const structured = (_, frames) => frames;

  const textOf = (frames, isLeftOut) => {
    let text = '';
    for (const frame of frames) {
      const file = frame.getFileName();
      if (typeof file !== 'string' || file === __filename || isLeftOut(file)) continue;
      text += `${pathOf(file)}:${frame.getLineNumber()} ${frame.isAsync() ? 'async ' : ''}${frame.getFunctionName() ?? '<anonymous>'}\n`;
    }
    return text;
  };

  const isNode = (file) => file.startsWith('node:');
  const isNone = () => false;

  const framesOf = (most) => {
    const limit = Object.getOwnPropertyDescriptor(Error, 'stackTraceLimit');
    const prepare = Object.getOwnPropertyDescriptor(Error, 'prepareStackTrace');
    const holder = {};
    let frames;
    try {
      Error.stackTraceLimit = most;
      Error.prepareStackTrace = structured;
      Error.captureStackTrace(holder, framesOf);
      frames = holder.stack;
    } finally {
      if (limit === undefined) delete Error.stackTraceLimit;
      else Object.defineProperty(Error, 'stackTraceLimit', limit);
      if (prepare === undefined) delete Error.prepareStackTrace;
      else Object.defineProperty(Error, 'prepareStackTrace', prepare);
    }
    return Array.isArray(frames) ? frames : [];
  };

  // The frames of the call stack now, innermost first: at most MAX_FRAMES of libraries, and then those from the program's on.
  const framesNow = () => {
    const frames = framesOf(MAX_FRAMES);
    if (frames.length < MAX_FRAMES || frames.some(isProgram)) return frames;
    const all = framesOf(DEEPEST), at = all.findIndex(isProgram);
    return at < 0 ? frames : frames.concat(all.slice(at, at + MAX_FRAMES));
  };

  const siteOf = (text) => {
    if (text === '') return '';
    let site = sites.get(text);
    if (site === undefined) {
      site = library.site(text);
      if (sites.size < MAX_SITES) sites.set(text, site);
    }
    return site;
  };

  // Client libraries make requests some ticks after the program's call. Then none of its functions is on the stack, and of
  // those that wait for the request V8 knows only async ones: a function that returned the library's promise is lost. So
  // each asynchronous operation keeps the place in the program that began it, or that of the operation in which it was
  // begun. Only in sessions that ask for it, since a stack is looked at whenever a promise is made.
  const ORIGIN = Symbol('filibuster');
  let originNow = () => undefined;
  let endOrigin = () => {};

  // The frames of the program's functions that run now. Those that wait for them count only where nothing runs and no
  // origin is known.
  const programOf = (frames) => {
    const at = frames.findIndex(isProgram);
    if (at < 0) return originNow() ?? '';
    return (frames[at].isAsync() && originNow()) || textOf(frames, isLibrary);
  };
  const isProgram = (frame) => {
    const file = frame.getFileName();
    return typeof file === 'string' && !isLibrary(file);
  };

  // What ends once. A handle (a socket, a server) goes on, and serves others than the one that opened it.
  const ENDS_ONCE = /^(?:PROMISE|TickObject|Timeout|Immediate|Microtask|QUERYWRAP|FSREQPROMISE|FSREQCALLBACK|\w+(?:REQUEST|REQWRAP|CONNECTWRAP))$/;
  const followOrigins = () => {
    const { createHook, executionAsyncResource } = require('async_hooks');
    originNow = () => executionAsyncResource()?.[ORIGIN];
    endOrigin = () => delete executionAsyncResource()?.[ORIGIN];
    const begin = (type, resource) => {
      const ends = ENDS_ONCE.test(type) || resource instanceof AsyncResource;
      const origin = ends ? programOf(framesNow()) : originNow();
      if (origin) resource[ORIGIN] = origin;
    };
    createHook({
      init(id, type, trigger, resource) {
        try {
          begin(type, resource);
        } catch {
          // It has no origin then.
        }
      },
    }).enable();
  };

  // Frames of libraries take part only if the program has none, those of Node only if nobody has.
  const siteNow = () => {
    const frames = framesNow();
    forgetOtherLists();
    return siteOf(programOf(frames) || textOf(frames, isNode) || textOf(frames, isNone));
  };

  // '' where no function of the program is on the stack.
  const siteInProgramNow = () => {
    const frames = framesNow();
    forgetOtherLists();
    return frames.some(isProgram) ? siteOf(programOf(frames)) : '';
  };

  // --- which request came in -----------------------------------------------------------------------

  const carried = (headers) => {
    // The last field counts, as for the library.
    for (let i = headers.length - 2; i >= 0; i -= 2) {
      if (headers[i].length === FIELD.length && headers[i].toLowerCase() === FIELD) return headers[i + 1];
    }
    return undefined;
  };

  // A request without our field: its caller has no agent, and the library formed the context when it read.
  const entries = new WeakMap();  // socket -> the context of its last such request
  const entryOf = (socket) => {
    const entry = socket._handle?.fd ?? -1;
    const context = library.nextEntry(entry, entries.get(socket) ?? '');
    if (context === undefined) return { context: '', site: '', entry: -1 };
    entries.set(socket, context);
    return { context, site: '', entry };
  };

  // Node publishes the event within the parser's asynchronous scope, which is the connection's. What is
  // entered here holds for the handler of this request and for the rest of its body, until the next request.
  const onIncoming = ({ request }) => {
    endOrigin();  // the function that made the server has not begun what a request brings about
    if (!library.executing()) {
      if (used) tasks.enterWith(undefined);
      return;
    }
    used = true;
    instrument();
    quietly(instrumentPrograms);
    const context = carried(request.rawHeaders);
    tasks.enterWith(context === undefined ? entryOf(request.socket) : { context, site: '', entry: -1 });
  };

  // --- which request goes out ----------------------------------------------------------------------

  // Every client of http and https makes a ClientRequest.
  const calls = new WeakMap();

  // What is known of a request: taken when the program made it, or as soon after that as it can be.
  const callOf = (request) => {
    let call = calls.get(request);
    if (call === undefined && library.executing()) {
      call = callNow();
      calls.set(request, call);
    }
    return call;
  };

  const quietly = (action, argument) => {
    try {
      return action(argument);
    } catch {
      return undefined;
    }
  };

  // Replaces a method, as invisibly as that can be done.
  const replace = (object, name, make) => {
    const original = object[name];
    if (typeof original !== 'function') return;
    const made = make(original);
    Object.defineProperty(made, 'name', { value: original.name, configurable: true });
    Object.defineProperty(made, 'length', { value: original.length, configurable: true });
    const known = Object.getOwnPropertyDescriptor(object, name);
    Object.defineProperty(object, name, {
      value: made, writable: true, configurable: true, enumerable: known?.enumerable ?? false });
  };

  // Would a field stay in the request, since the library does not see what is encrypted? It takes the field out else.
  library.seesTls();
  const isHidden = (encrypted) => Boolean(encrypted) && !library.seesTls();

  // Returns the first line of the request's head with our field behind it, so that no list of the program's
  // own headers shows the field. (A field that the program forwarded is replaced where it is.)
  const marked = (request, firstLine, headers) => {
    const call = callOf(request);
    if (call === undefined || isHidden(request.protocol === 'https:' || request.socket?.encrypted)) return firstLine;
    const forwarded = request.getHeader(FIELD);
    if (forwarded !== undefined) {
      const field = library.field(String(forwarded), call.site);
      if (field !== undefined) request.setHeader(FIELD, field);
      return firstLine;
    }
    if (Array.isArray(headers) && carried(headers.flat()) !== undefined) return firstLine;
    const field = library.field(call.context, call.site);
    return field === undefined ? firstLine : `${firstLine}${FIELD}: ${field}\r\n`;
  };

  const instrumentHttp = () => {
    const { Agent, ClientRequest, OutgoingMessage } = require('http');
    // Called by the constructor: the program's call is on the stack, and the connect runs under it.
    replace(Agent.prototype, 'addRequest', (original) => function (request, ...rest) {
      const call = quietly(callOf, request);
      if (call === undefined) return Reflect.apply(original, this, [request, ...rest]);
      const outer = agentConnects;
      agentConnects = true;
      try {
        return tasks.run(call, () => Reflect.apply(original, this, [request, ...rest]));
      } finally {
        agentConnects = outer;
      }
    });
    // Called by the constructor where there is no agent.
    replace(ClientRequest.prototype, 'onSocket', (original) => function (...rest) {
      if (!this.agent) quietly(callOf, this);
      return Reflect.apply(original, this, rest);
    });
    replace(ClientRequest.prototype, '_storeHeader', () => function (firstLine, headers) {
      const line = quietly(() => marked(this, firstLine, headers)) ?? firstLine;
      return Reflect.apply(OutgoingMessage.prototype._storeHeader, this, [line, headers]);
    });
  };

  // fetch and undici publish a request while the program's call is on the stack, unless the request had to
  // wait for a connection of a bounded pool. Then we are in a callback of the connection (whose context is
  // '-'), and the AsyncResource that undici made for the call has the context.
  const waitedFor = (request) => {
    const symbol = Object.getOwnPropertySymbols(request).find((own) => own.description === 'handler');
    let handler = symbol && request[symbol];
    for (let depth = 0; handler && depth < 8; ++depth) {
      if (handler instanceof AsyncResource) return handler.runInAsyncScope(() => tasks.getStore());
      handler = handler.handler;
    }
    return undefined;
  };
  const onUndiciRequest = ({ request }) => {
    if (!library.executing()) return;
    used = true;
    instrument();
    if (isHidden(String(request.origin).startsWith('https:'))) return;
    const call = callNow();
    const waited = tasks.getStore()?.connecting === undefined ? undefined : waitedFor(request);
    if (waited !== undefined) call.context = waited.context;
    const known = request.headers;
    const names = Array.isArray(known) ? known : String(known ?? '').split(/: |\r\n/);
    if (carried(names.map(String)) !== undefined) return;
    const field = library.field(call.context, call.site);
    if (field === undefined) return;
    request.addHeader(FIELD, field);
    if (tasks.getStore()?.connecting === undefined) tasks.enterWith(call);
  };

  // --- HTTP/2: Node's own module, and what is built on it (grpc-js) --------------------------------------

  const RUNTIME_FIELD = /^[1-3]-[0-9a-f-]{72}-[0-9a-f]{16}-[0-9a-f]{8}$/;  // core/rpc/header_field.h

  // The context that came in holds for the handlers of 'stream' and 'request', and for all later events of the
  // stream, which would run in the context of the connection otherwise.
  const onStream = (stream, headers) => {
    if (!library.executing()) {
      if (used) tasks.enterWith(undefined);
      return;
    }
    used = true;
    const field = headers[FIELD];
    // Node joins several fields of one name; the last one counts.
    const context = typeof field === 'string' ? field.slice(field.lastIndexOf(',') + 1).trim() : '';
    const task = { context, site: '', entry: -1 };
    const emit = stream.emit;
    Object.defineProperty(stream, 'emit', {
      value: (...rest) => tasks.run(task, () => Reflect.apply(emit, stream, rest)),
      writable: true, configurable: true, enumerable: false });
    tasks.enterWith(task);
  };

  // Headers with our field: an object, or names and values in turn.
  const withField = (headers, field, sensitive) => {
    if (Array.isArray(headers)) return [...headers, FIELD, field];
    const made = { __proto__: null, ...headers, [FIELD]: field };
    if (sensitive) made[sensitive] = [...(headers?.[sensitive] ?? []), FIELD];  // stays out of the peer's table
    return made;
  };

  const requestWithField = (http2, session, headers) => {
    if (!library.executing()) return headers;
    const names = Array.isArray(headers) ? headers : Object.entries(headers ?? {}).flat();
    const known = carried(names.map(String));
    const hidden = isHidden(session.socket?.encrypted || session.encrypted);
    if (RUNTIME_FIELD.test(known ?? '')) {  // from instrumentGrpc, below
      if (!hidden) return headers;
      const { [FIELD]: ours, ...rest } = headers;
      return rest;
    }
    if (hidden) return headers;
    const call = callNow();
    const field = library.field(known ?? call.context, call.site);
    if (field === undefined) return headers;
    if (known === undefined) return withField(headers, field, http2.sensitiveHeaders);
    if (Array.isArray(headers)) return headers.map((text, i) => (headers[i - 1] === FIELD ? field : text));
    return { ...headers, [FIELD]: field };
  };

  // grpc-js makes its HTTP/2 request when a connection is there, long after the program's call, and not in the
  // call's context. So the field goes into the metadata when the call is made.
  const instrumentGrpc = (grpc) => {
    const { prototype } = grpc.Channel;
    if (known.has(prototype)) return;
    known.add(prototype);
    replace(prototype, 'createCall', (original) => function (...rest) {
      const call = Reflect.apply(original, this, rest);
      const made = requestsMarked && library.executing() ? quietly(callNow) : undefined;
      if (made === undefined || typeof call.start !== 'function') return call;
      const start = call.start;
      const mark = (metadata) => {
        const marked = metadata.clone();
        const forwarded = metadata.get(FIELD).at(-1);
        const field = library.field(forwarded === undefined ? made.context : String(forwarded), made.site);
        if (field === undefined) return metadata;
        marked.set(FIELD, field);
        return marked;
      };
      Object.defineProperty(call, 'start', {
        value: (metadata, ...others) => Reflect.apply(start, call, [quietly(mark, metadata) ?? metadata, ...others]),
        writable: true, configurable: true, enumerable: false });
      return call;
    });
  };

  const instrumentModules = () => {
    const Module = require('module');
    replace(Module, '_load', (original) => function (request, ...rest) {
      const loaded = Reflect.apply(original, this, [request, ...rest]);
      if (request === 'http2' || request === 'node:http2') quietly(instrumentHttp2);
      if (request === 'child_process' || request === 'node:child_process') quietly(instrumentPrograms);
      if (/(^|\/)@grpc\/grpc-js($|\/build\/src\/index)/.test(request) && loaded?.Channel) quietly(instrumentGrpc, loaded);
      if (/\/(commands-queue|encoder)(\.js)?$/.test(request)) quietly(instrumentNodeRedis, loaded);
      return loaded;
    });
  };

  let requestsMarked = library.sessionPresent();  // every HTTP/2 request that leaves passes requestWithField
  // Loading http2 would be a good part of what we add to the start of Node, and few programs use it. So it is
  // instrumented when the program has loaded it. We see that at once with `require`; with `import` we see it at
  // the program's first connect, or when its first server listens.
  let http2Instrumented = false;
  const servers = new WeakSet();  // the servers that onStream listens to
  const watch = (server) => {
    if (servers.has(server)) return;
    servers.add(server);
    server.prependListener('stream', guardedPair(onStream));
  };
  const instrumentHttp2 = () => {
    if (http2Instrumented) return;
    http2Instrumented = true;
    const http2 = require('http2');
    let requests = false;
    replace(http2, 'connect', (original) => function (...rest) {
      const session = Reflect.apply(original, this, rest);
      if (!requests) {
        requests = requestsMarked = true;
        replace(Object.getPrototypeOf(session), 'request', (request) => function (headers, ...others) {
          const given = quietly(() => requestWithField(http2, this, headers)) ?? headers;
          const stream = Reflect.apply(request, this, [given, ...others]);
          if (given !== headers) quietly(() => delete stream.sentHeaders[FIELD]);
          return stream;
        });
      }
      return session;
    });
    for (const name of ['createServer', 'createSecureServer']) {
      replace(http2, name, (original) => function (...rest) {
        const server = Reflect.apply(original, this, rest);
        quietly(watch, server);
        return server;
      });
    }
    require('module').syncBuiltinESMExports();
  };
  const isHttp2Server = (server) => {
    for (let at = server; at; at = Object.getPrototypeOf(at)) {
      if (/^Http2(Secure)?Server$/.test(at.constructor?.name)) return true;
    }
    return false;
  };
  const http2IsNew = () => !http2Instrumented && (process.moduleLoadList?.includes('NativeModule http2') ?? true);
  // Called within a connect, whose HTTP/2 session may be the first. The prototype of all sessions is reached
  // by means of a session of our own that leads nowhere.
  const instrumentConnectingHttp2 = () => {
    instrumentHttp2();
    const { Duplex } = require('stream');
    const nowhere = new Duplex({ read() {}, write(bytes, encoding, done) { done(); } });
    const session = require('http2').connect('http://localhost', { createConnection: () => nowhere });
    session.on('error', () => {}).destroy();
  };

  // --- commands: what a program writes to a socket of its own ----------------------------------------

  // A protocol such as Redis has no place for a field, so the library is told who makes the bytes of each write.
  // Where no function of the program is on the stack (a library writes later what it gathered, or has a timer
  // of its own), the cause is not known.
  const unknownCall = { context: '', site: '' };
  const commandNow = () => {
    const site = siteInProgramNow();
    if (site === '') return unknownCall;
    // In a callback of a connection it is not known which task waits for it.
    return { context: tasks.getStore()?.connecting === undefined ? contextNow() : '', site };
  };

  // The package `redis` writes the commands of one turn of the event loop at its end. Its queue takes the
  // arguments of each command while the program's call is on the stack. Its encoder turns them into pieces,
  // which are written one by one.
  const commands = new WeakMap();  // arguments -> who made them
  let encoded;                     // the command that is being written: {call, pieces, next}
  const instrumentNodeRedis = (loaded) => {
    if (typeof loaded?.default !== 'function' || known.has(loaded)) return;
    known.add(loaded);
    if (typeof loaded.default.prototype?.addCommand === 'function') {
      replace(loaded.default.prototype, 'addCommand', (original) => function (command, ...rest) {
        if (quietly(library.sessionPresent) === true) quietly(() => commands.set(command, commandNow()));
        return Reflect.apply(original, this, [command, ...rest]);
      });
    } else if (loaded.default.name === 'encodeCommand') {
      replace(loaded, 'default', (original) => function (command, ...rest) {
        const pieces = Reflect.apply(original, this, [command, ...rest]);
        const call = quietly(() => commands.get(command));
        encoded = call === undefined || !Array.isArray(pieces) ? undefined : { call, pieces, next: 0 };
        return pieces;
      });
    }
  };
  const encodedCall = (piece) => {
    if (encoded === undefined || encoded.pieces[encoded.next] !== piece) return undefined;
    const { call } = encoded;
    if (++encoded.next === encoded.pieces.length) encoded = undefined;
    return call;
  };

  const sizeOf = (bytes, encoding) => {
    if (typeof bytes !== 'string') return bytes?.byteLength ?? 0;
    return Buffer.byteLength(bytes, typeof encoding === 'string' ? encoding : 'utf8');
  };

  const written = new WeakMap();  // a socket of the program -> how many bytes it has written
  const onWrite = (socket, bytes, encoding) => {
    const call = encodedCall(bytes);
    const size = sizeOf(bytes, encoding);
    // The getter bytesWritten walks through all that is buffered, so we count ourselves while something is.
    const before = written.get(socket);
    const start = before === undefined || socket.writableLength === 0 ? socket.bytesWritten : before;
    written.set(socket, start + size);
    const descriptor = socket._handle?.fd ?? -1;
    if (descriptor < 0 || !library.asksWhoWrites(descriptor)) return;
    const { context, site } = call ?? commandNow();
    library.sayWhoWrites(descriptor, start, size, context, site);
  };

  // --- connects ------------------------------------------------------------------------------------

  const known = new WeakSet();  // prototypes that are instrumented
  let agentConnects = false;    // http's own agent opens a connection now

  // The library sees a connect on the thread that makes it. Between enter and leave it knows what the connect
  // is for.
  const within = (action, self, rest) => {
    if (quietly(library.executing) !== true) return Reflect.apply(action, self, rest);
    const store = tasks.getStore();
    const task = store?.connecting ?? store;
    library.enter(task?.context ?? '-', task?.site ?? '');
    try {
      return Reflect.apply(action, self, rest);
    } finally {
      library.leave();
    }
  };

  const instrumentHandle = (handle) => {
    const prototype = handle && Object.getPrototypeOf(handle);
    if (!prototype || known.has(prototype)) return;
    known.add(prototype);
    for (const name of ['connect', 'connect6']) {
      replace(prototype, name, (original) => function (...rest) {
        return within(original, this, rest);
      });
    }
  };

  const instrumentNet = () => {
    const { Server, Socket } = require('net');
    // A pipe connects at once. TCP connects when the name is resolved, on a handle that is there by then.
    //
    // A connection outlives the task that opened it, and serves others: what its callbacks do (a pool that
    // hands it to the next in the queue, a reply of a database) is not that task's. Connections of Node's own
    // http.Agent are left as they are, since addRequest gives them the context of their request.
    replace(Server.prototype, 'listen', (original) => function (...rest) {
      if (http2IsNew()) quietly(instrumentHttp2);
      if (http2Instrumented && quietly(isHttp2Server, this)) quietly(watch, this);
      return Reflect.apply(original, this, rest);
    });
    replace(Socket.prototype, 'write', (original) => function (bytes, encoding, ...rest) {
      if (written.has(this)) quietly(() => onWrite(this, bytes, encoding));
      return Reflect.apply(original, this, [bytes, encoding, ...rest]);
    });
    replace(Socket.prototype, 'connect', (original) => function (...rest) {
      if (http2IsNew()) quietly(instrumentConnectingHttp2);
      const connect = () => {
        const result = within(original, this, rest);
        quietly(instrumentHandle, this._handle);
        return result;
      };
      if (!agentConnects) written.set(this, undefined);
      if (agentConnects || quietly(library.executing) !== true) return connect();
      const nobodys = { context: '-', site: '', entry: -1, connecting: tasks.getStore() ?? { context: '-', site: '' } };
      return tasks.run(nobodys, connect);
    });
  };

  // --- programs that are started -------------------------------------------------------------------

  // The library tells a program for which request it is started. It asks the thread that starts it. The module is not loaded
  // for this: few programs use it.
  let programsInstrumented = false;
  const instrumentPrograms = () => {
    if (programsInstrumented) return;
    if (!(process.moduleLoadList?.includes('NativeModule child_process') ?? true)) return;
    programsInstrumented = true;
    const programs = require('child_process');
    const marking = (original) => function (...rest) {
      return within(original, this, rest);
    };
    replace(programs.ChildProcess.prototype, 'spawn', marking);
    for (const name of ['spawnSync', 'execFileSync', 'execSync']) replace(programs, name, marking);
    require('module').syncBuiltinESMExports();
  };

  let drawsFollowed = false;
  const instrumentDraws = () => {
    if (drawsFollowed || !library.followsDraws()) return;
    drawsFollowed = true;
    followDraws({ library, contextNow, siteNow, replace, quietly });  // draws.cjs
  };

  let instrumented = false;
  const instrument = () => {
    quietly(instrumentDraws);
    if (instrumented) return;
    instrumented = true;
    quietly(instrumentNet);
    quietly(instrumentHttp);
    if (http2IsNew()) quietly(instrumentHttp2);
    quietly(instrumentModules);
    quietly(() => library.asksOrigins() && followOrigins());
  };

  channel('http.server.request.start').subscribe(guarded(onIncoming));
  channel('undici:request:create').subscribe(guarded(onUndiciRequest));
  // For a session that begins after the program.
  channel('net.client.socket').subscribe(guarded(() => {
    if (!instrumented && library.executing()) instrument();
  }));
  if (library.sessionPresent()) instrument();
}
