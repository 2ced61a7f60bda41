// Models and clients for `filibuster property`, in JavaScript and TypeScript. One file, Node 18 and later, no packages: copy it, and
// filibuster_property.d.cts beside it for the types. `require` and `import` both take it.
//
// A model says what the application does, in the simplest way. This one is of a list, to which `append` answers the index:
//
//   import { Model, command, integer, run, text } from "./filibuster_property.cjs";
//
//   class List extends Model {
//     reads = ["get"];
//
//     init() {
//       return [];
//     }
//
//     commands(state) {
//       return [command("append", text(8)), command("get", integer(0, state.length), 2)];
//     }
//
//     step(state, f, value, answer) {
//       if (f === "append") return [[...state, value], state.length];
//       return [state, state[value] ?? null];
//     }
//   }
//
//   run(new List());
//
// A client does the same commands with the application, and says what it saw:
//
//   import { Client, Fail, Info, run } from "./filibuster_property.cjs";
//
//   class Http extends Client {
//     async append(value) {
//       const answer = await fetch(URL, { method: "POST", body: value });
//       if (answer.status === 503) throw new Fail("503"); // it has certainly not happened
//       if (answer.status !== 200) throw new Info(answer.status); // nobody knows
//       return Number(await answer.text());
//     }
//
//     async get(value) { ... }
//
//     async reset() { // makes the state again that the model begins with
//       await fetch(URL + "/reset", { method: "POST" });
//     }
//   }
//
//   run(new Http());
//
// Each is a program that answers questions, one JSON text a line, which the daemon asks on its standard input. What they print
// goes to the standard error.
"use strict";
const fs = require("node:fs");
const { findSourceMap } = require("node:module");
const net = require("node:net");
const { fileURLToPath, pathToFileURL } = require("node:url");
const { inspect } = require("node:util");

class Word {
  constructor(name) {
    this.name = name;
  }

  [inspect.custom]() {
    return this.name;
  }
}

const ANY = new Word("ANY"); // the second of what step() returns: whatever is answered will do
const UNKNOWN = new Word("UNKNOWN"); // the answer that step() and classify() are given where nobody saw one

class Said extends Error {
  constructor(why = "") {
    super(why instanceof Error ? said(why) : String(why));
  }

  get name() {
    return this.constructor.name;
  }
}

// A client's command had no effect, for certain.
class Fail extends Said {}

// Nobody knows whether a client's command had its effect, or will still have it.
class Info extends Said {}

// In this state of the model, a command cannot have been answered so.
class Impossible extends Said {}

// What the daemon is told instead of an answer, without another line of a file.
class Wrong extends Error {}

// ---- values that are generated ----

// A whole number from `low` to `high`, both included.
const integer = (low, high) => ({ int: [low, high] });

// A text of at most `max` characters.
const text = (max = 8) => ({ text: { max } });

// One of these values, as they stand.
const oneOf = (...values) => ({ one_of: values });

// An array with a value of each generator.
const array = (...generators) => ({ array: generators });

// An object with a value of each generator under its name.
const record = (generators) => ({ object: generators });

// What an earlier command `f` of the same program was answered.
const resultOf = (f) => ({ result_of: f });

// This value, also if it looks like a generator.
const constant = (value) => ({ value });

// A command that may come next. `value` is a generator, or a constant; `weight` says how often it is chosen beside others.
const command = (f, value = null, weight = 1) => ({ f, value, weight });

// Whether this stands for an answer that is not known yet: while a program is made, no command has been executed.
const isSymbol = (value) => isPlain(value) && Object.keys(value).join() === "result";

// ---- what people write ----

// What the application does. A state is JSON. Every question brings its state, so nothing need be kept in `this`, and a state may be
// changed in place. Each method may be async.
class Model {
  reads = []; // the commands that never change the state

  // The state after a reset.
  init() {
    throw new Error("a model has init()");
  }

  // The commands that may come next, an array of command(...).
  commands(state) {
    throw new Error("a model has commands()");
  }

  // Whether the command may be called in this state. A shortened program has only commands that may.
  pre(state, f, value) {
    return true;
  }

  // The state after the command, and what it must have been answered: an array of two. The second is ANY where each answer will do.
  // `answer` is what it was answered. It is a symbol while programs are made (isSymbol), and UNKNOWN where nobody saw it.
  // Throws Impossible("why") where the command cannot have had this answer in this state.
  step(state, f, value, answer) {
    throw new Error("a model has step()");
  }

  // Texts under which this step is counted.
  classify(state, f, value, answer) {
    return [];
  }
}

// Executes commands: each has a method of its name, which takes the value and the name of its process, a text, and returns the answer,
// or throws Fail or Info. Whatever else is thrown counts as Info. A method that returns nothing answers null. It may be async.
class Client {
  // Makes the state again that the model begins with.
  reset() {}
}

// ---- JSON ----

function isPlain(value) {
  if (typeof value !== "object" || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  // The prototype of all objects; also that of another realm, whose own prototype is null.
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

const kHints = {
  undefined: ": null is",
  bigint: ": make a number or a text of it",
};

// The value, if it is the same when it comes back. JSON.stringify leaves out what JSON does not have, in silence.
function checked(value, what) {
  if (Array.isArray(value)) {
    for (const one of value) checked(one, what);
  } else if (isPlain(value)) {
    for (const one of Object.values(value)) checked(one, what);
  } else if (typeof value === "number" && !Number.isFinite(value)) {
    throw new Wrong(`${what} holds ${value}, which JSON does not have`);
  } else if (value !== null && !["string", "number", "boolean"].includes(typeof value)) {
    throw new Wrong(`${what} holds ${shown(value)}, which is not JSON${kHints[typeof value] ?? ""}`);
  }
  return value;
}

// Of a value that a message is about, in one line.
const shown = (value) => inspect(value, { breakLength: Infinity, depth: 4 });

// The same for a name that came in a question.
const quoted = (value) => (typeof value === "string" ? `'${value}'` : JSON.stringify(value));

// " (FILE:LINE)" of the function, or "". Node tells it to debuggers alone, so this file is one for a moment.
function where(method) {
  let session;
  try {
    session = new (require("node:inspector").Session)();
    session.connect();
    return location(session, method);
  } catch {
    return ""; // a native function, or a Node without inspector
  } finally {
    session?.disconnect();
  }
}

function location(session, method) {
  const scripts = new Map();
  session.on("Debugger.scriptParsed", ({ params }) => scripts.set(params.scriptId, params.url));
  // These questions are answered before post() returns.
  const ask = (name, parameters) => {
    let answer;
    session.post(name, parameters, (_, result) => { answer = result; });
    return answer;
  };
  ask("Debugger.enable");
  const key = "filibuster.property.method";
  globalThis[Symbol.for(key)] = method;
  const { result } = ask("Runtime.evaluate", { expression: `globalThis[Symbol.for("${key}")]` });
  delete globalThis[Symbol.for(key)];
  const { internalProperties } = ask("Runtime.getProperties", { objectId: result.objectId });
  const { scriptId, lineNumber, columnNumber } = internalProperties.find(({ name }) => name === "[[FunctionLocation]]").value.value;
  const url = scripts.get(scriptId);
  // Where a compiler made the program of another one, as tsx does, Node may know from which line.
  const original = findSourceMap(url)?.findEntry(lineNumber, columnNumber);
  return original?.originalSource ? at(original.originalSource, original.originalLine + 1) : at(url, lineNumber + 1);
}

const at = (file, line) => ` (${file.startsWith("file:") ? fileURLToPath(file) : file}:${line})`;

// The error in one line, with what caused it: that of fetch() says nothing else.
function said(error) {
  if (!(error instanceof Error)) return shown(error);
  const line = `${error.name}: ${error.message}`;
  return error.cause === undefined ? line : `${line}, since ${said(error.cause)}`;
}

// The same with the line where the user's code threw it, or called what did; else with that of the user's `method`, since what is no Error
// has no trace, and that of a promise may end before whoever waits for it.
function thrown(error, method) {
  const own = [__filename, pathToFileURL(__filename).href];
  const frames = String(error?.stack ?? "").matchAll(/^ +at (?:async )?(?:.*? \()?((?:file:\/\/)?\/.*):(\d+):\d+\)?$/gm);
  for (const [, file, line] of frames) if (!own.includes(file)) return said(error) + at(file, line);
  return said(error) + where(method);
}

// The value, which the user's `method` returned.
function json(value, what, method) {
  try {
    return checked(value, what);
  } catch (error) {
    if (error instanceof RangeError) throw new Wrong(`${what} holds itself, which JSON cannot${where(method)}`);
    throw new Wrong(error.message + where(method));
  }
}

// ---- the questions ----

function member(question, name) {
  if (!Object.hasOwn(question, name)) throw new Wrong(`the question has no '${name}': ${JSON.stringify(question)}`);
  return question[name];
}

async function answerOfModel(model, question) {
  const asked = member(question, "ask");
  if (asked === "init") {
    if (!Array.isArray(model.reads)) throw new Wrong(`reads of ${model.constructor.name} is an array of names, not ${shown(model.reads)}`);
    return { state: json(await model.init(), "the state", model.init), reads: checked(model.reads, "reads") };
  }
  if (!["commands", "pre", "step", "classify"].includes(asked)) throw new Wrong(`a model is not asked ${quoted(asked)}`);
  const state = member(question, "state");
  if (asked === "commands") {
    const found = await model.commands(state);
    if (!Array.isArray(found) || !found.every((one) => isPlain(one) && "f" in one)) {
      throw new Wrong(`commands() returned ${shown(found)}, and not an array of command(...)${where(model.commands)}`);
    }
    return { commands: json(found, "a command", model.commands) };
  }
  const f = member(question, "f");
  const value = question.value ?? null;
  if (asked === "pre") return { holds: Boolean(await model.pre(state, f, value)) };
  const answer = Object.hasOwn(question, "answer") ? question.answer : UNKNOWN;
  if (asked === "classify") {
    const found = (await model.classify(state, f, value, answer)) ?? [];
    return { labels: (Array.isArray(found) ? found : [found]).map(String) };
  }
  let stepped;
  try {
    stepped = await model.step(state, f, value, answer);
  } catch (error) {
    if (error instanceof Impossible) return { impossible: error.message };
    throw error;
  }
  if (!Array.isArray(stepped) || stepped.length !== 2) {
    throw new Wrong(`step() returned ${shown(stepped)} for ${quoted(f)}, and not an array of a state and an answer${where(model.step)}`);
  }
  const [after, expected] = stepped;
  const out = { state: json(after, `the state after ${quoted(f)}`, model.step) };
  // Whoever hands on the answer that nobody saw has no opinion of it.
  if (expected !== ANY && expected !== UNKNOWN) out.answer = json(expected, `the answer of ${quoted(f)}`, model.step);
  return out;
}

async function answerOfClient(client, question) {
  const done = member(question, "do");
  if (done === "reset") {
    await client.reset();
    return { ok: null };
  }
  // What every object has is no command.
  const method = typeof done !== "string" || done.startsWith("_") || done in Object.prototype ? undefined : client[done];
  if (typeof method !== "function") throw new Wrong(`the client ${client.constructor.name} has no method ${quoted(done)}`);
  let answer;
  try {
    answer = await method.call(client, question.value ?? null, question.process ?? null);
  } catch (error) {
    if (error instanceof Fail) return { fail: error.message };
    if (error instanceof Info) return { info: error.message };
    console.error(error);
    return { info: thrown(error, method) };
  }
  return { ok: json(answer ?? null, `the answer of ${quoted(done)}`, method) };
}

async function answerTo(served, line) {
  let question;
  try {
    question = JSON.parse(line);
  } catch (error) {
    return { error: `the question is not JSON: ${error.message}` };
  }
  try {
    if (!isPlain(question)) throw new Wrong(`the question is no object: ${JSON.stringify(question)}`);
    return await (served instanceof Model ? answerOfModel : answerOfClient)(served, question);
  } catch (error) {
    if (error instanceof Wrong) return { error: error.message };
    console.error(error);
    return { error: thrown(error, served[question.ask ?? question.do]) };
  }
}

// ---- the streams ----

// Opens what has this number a second time, if it is a pipe, and gives the number to `other`. Node has no dup2(), but what is opened gets
// the lowest number that is free. Nothing waits for the other end of a pipe here (O_NONBLOCK).
function takenPipe(number, flags, ...others) {
  let taken;
  try {
    if (!fs.fstatSync(number).isFIFO()) return null;
    taken = fs.openSync(`/proc/self/fd/${number}`, flags | fs.constants.O_NONBLOCK);
  } catch {
    return null; // the pipe of another user
  }
  fs.closeSync(number);
  for (const other of others) {
    try {
      fs.openSync(other, fs.constants.O_RDWR | fs.constants.O_NONBLOCK | fs.constants.O_APPEND);
      break;
    } catch {
      // A socket cannot be opened again.
    }
  }
  return new net.Socket({ fd: taken, readable: number === 0, writable: number === 1 });
}

// The standard input and output for this file alone. Whatever else prints, also a program that the user's code starts, prints to
// the standard error, and whatever else reads finds nothing. Where they are no pipes, only this process is kept from printing there.
function ownStreams() {
  const questions = takenPipe(0, fs.constants.O_RDONLY, "/dev/null") ?? process.stdin;
  const answers = takenPipe(1, fs.constants.O_WRONLY, "/proc/self/fd/2", "/dev/null");
  const write = answers ? answers.write.bind(answers) : process.stdout.write.bind(process.stdout);
  process.stdout.write = process.stderr.write.bind(process.stderr);
  // Nobody asks any more.
  (answers ?? process.stdout).on("error", () => process.exit(0));
  return { questions, write };
}

// Answers questions about the model, or executes commands by the client, until there are no more.
function run(served) {
  if (!(served instanceof Model) && !(served instanceof Client)) {
    throw new TypeError(`run() takes a Model or a Client, as in run(new Jobs()), not ${shown(served)}`);
  }
  return answered(served);
}

async function answered(served) {
  const { questions, write } = ownStreams();
  for await (const line of linesOf(questions)) {
    if (line.trim()) write(`${JSON.stringify(await answerTo(served, line))}\n`);
  }
}

// node:readline would also end a line at U+2028, which a text of JSON may have.
async function* linesOf(stream) {
  stream.setEncoding("utf8");
  let rest = "";
  for await (const part of stream) {
    const lines = (rest + part).split("\n");
    rest = lines.pop();
    yield* lines;
  }
  yield rest;
}

// `import` finds the names where they stand in one object, as they are.
module.exports = {
  Model, Client, Fail, Info, Impossible, ANY, UNKNOWN, run, command, integer, text, oneOf, array, record, resultOf, constant, isSymbol,
};
