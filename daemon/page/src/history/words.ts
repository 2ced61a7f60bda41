// The sentences that say what was found.
import { counted, oneLine } from "../parts";
import { answers, callText, cut, outcomeText, valueText, type Call, type History, type Order, type Part, type Whole } from "./data";

const longest = 160; // characters of a value in a sentence; the panel has the whole

export const signs: Record<Whole, { sign: string; kind: "good" | "bad" | "unsure" }> = {
  "linearisable": { sign: "\u2713", kind: "good" },
  "not linearisable": { sign: "\u2717", kind: "bad" },
  "no problem": { sign: "\u2713", kind: "good" },
  "problems": { sign: "\u2717", kind: "bad" },
  "unknown": { sign: "?", kind: "unsure" },
};

export function short(value: unknown): string {
  return cut(oneLine(valueText(value)), longest);
}

function because(why: string): string {
  return why ? `: ${oneLine(why)}` : "";
}

export function headline(history: History): string {
  const file = oneLine(history.file), model = oneLine(history.model);
  if (history.verdict === "no problem") return `The check ${model} finds no problem in the history ${file}.`;
  if (history.verdict === "problems") return `The check ${model} finds ${counted(history.problems.length, "problem")} in the history ${file}.`;
  if (history.verdict === "unknown") return `It is not known whether the history ${file} is linearisable as ${model}${because(history.why)}.`;
  return `The history ${file} is ${history.verdict} as ${model}.`;
}

// What surrounds the verdict: how much was looked at, and what was not.
export function scope(history: History): string {
  const processes = new Set(history.calls.map((call) => call.process)).size;
  const of = (outcome: Call["outcome"]) => history.calls.filter((call) => call.outcome === outcome).length;
  const said = [`The history has ${counted(history.calls.length, "operation")} of ${counted(processes, "process", "processes")}.`];
  if (of("fail") > 0) said.push(`${of("fail").toLocaleString("en")} failed.`);
  if (of("info") > 0) said.push(`The outcome of ${of("info").toLocaleString("en")} was never known.`);
  if (history.left_out > 0) said.push(`${counted(history.left_out, "event was", "events were")} left out, since ${history.left_out === 1 ? "it is" : "they are"} of no client.`);
  if (history.not_begun > 0) said.push(`${counted(history.not_begun, "other key was", "other keys were")} not checked to the end, since one is not linearisable.`);
  return said.join(" ");
}

export function ofKey(part: Part): string {
  return part.key ? ` of the key ${oneLine(part.key)}` : "";
}

export function partWords(part: Part): string {
  const all = counted(part.calls.length, "operation");
  return part.verdict === "unknown" ? `${all}, not known${because(part.why)}` : `${all}, ${part.verdict}`;
}

// "the state behind it is 3": what the next call meets.
export function metBy(part: Part, order: Order): unknown {
  return order.calls.length === 0 ? part.initial : order.states[order.calls.length - 1];
}

export function cannot(call: Call): string {
  return answers(call) ? `cannot answer ${short(call.answered)}` : "cannot succeed";
}

// Why no order goes on.
export function reason(history: History, part: Part, order: Order): string {
  const all = part.calls.length;
  if (order.stuck === null)
    return part.verdict === "not linearisable" ? `No order has all of its operations: the longest has ${order.calls.length.toLocaleString("en")} of ${all.toLocaleString("en")}.` : "";
  const call = history.calls[order.stuck]!;
  const state = short(metBy(part, order));
  const where = order.calls.length === 0
    ? `No operation can come before it, and the initial state is ${state}`
    : `The longest order has ${order.calls.length.toLocaleString("en")} of ${all.toLocaleString("en")} operations, and the state behind the last of them is ${state}`;
  return `Process ${oneLine(call.process)}\u2019s ${cut(callText(call), longest)} (line ${call.line}) cannot be placed. ${where}: there it ${cannot(call)}.`;
}

// Of a call that is not in the order that is shown.
export function whyNot(call: Call, number: number, order: Order): string {
  if (order.stuck === number) return "not placed: it had to come next, and cannot";
  if (call.outcome === "fail") return "not placed, since it failed: it did nothing";
  if (call.outcome === "info") return "not placed: nobody knows whether it took effect, and this order does without it";
  if (order.stuck !== null) return "not placed: the order ends before it";
  return "not placed";
}

// A call for those who do not see its bar; `text` is what stands in it.
export function spoken(call: Call, text: string, place: string): string {
  return `Process ${oneLine(call.process)}: ${text}, line ${call.line}; ${outcomeText(call)}${place ? `; ${place}` : ""}`;
}
