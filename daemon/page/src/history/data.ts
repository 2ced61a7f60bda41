// What `filibuster check` found of a history, as the page has it.
import { oneLine } from "../parts";

// docs/schema/history.schema.json has the same.
export type Verdict = "linearisable" | "not linearisable" | "unknown";
export type Whole = Verdict | "no problem" | "problems"; // the last two of checks in one pass

export interface Call {
  process: string;
  f: string;
  asked: unknown;
  answered: unknown;
  outcome: "ok" | "fail" | "info";
  key: string; // of the object; "": there is one object
  call: number; // the events of its begin and of its end, on one clock
  end: number | null; // null: its outcome was never known
  line: number;
}

export interface Order {
  calls: number[]; // in the order in which they took effect
  states: unknown[]; // behind each of them
  stuck: number | null; // the call that had to come next, and cannot
}

export interface Part {
  key: string;
  verdict: Verdict;
  why: string;
  calls: number[];
  initial: unknown;
  visited: number;
  orders: Order[];
}

// What a check in one pass found wrong.
export interface Problem {
  text: string;
  lines: number[];
}

export interface History {
  file: string;
  model: string;
  verdict: Whole;
  why: string;
  left_out: number;
  calls: Call[];
  parts: Part[];
  not_begun: number;
  problems: Problem[];
}

export function isHistory(data: unknown): data is { history: History } {
  return typeof data === "object" && data !== null && "history" in data;
}

const texts = new WeakMap<object, string>(); // a state of a thousand elements is written once

// JSON in one line, with blanks behind commas and colons, as people write it.
export function valueText(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  const known = texts.get(value);
  if (known !== undefined) return known;
  const text = Array.isArray(value) ? `[${value.map(valueText).join(", ")}]`
    : `{${Object.entries(value).map(([name, of]) => `${JSON.stringify(name)}: ${valueText(of)}`).join(", ")}}`;
  texts.set(value, text);
  return text;
}

export function cut(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most)}\u2026` : text;
}

// "write 3", "read → 5". What a call answers that only says again what was asked is left out, as histories of Jepsen have it.
export function callText(call: Call): string {
  const asked = call.asked === null ? "" : ` ${valueText(call.asked)}`;
  return oneLine(`${call.f}${asked}${answers(call) ? ` \u2192 ${valueText(call.answered)}` : ""}`);
}

// Whether the answer says more than that the call succeeded.
export function answers(call: Call): boolean {
  if (call.outcome !== "ok") return false;
  if (call.answered === null) return call.asked === null;
  return valueText(call.answered) !== valueText(call.asked);
}

export function outcomeText(call: Call): string {
  if (call.outcome === "ok") return "it succeeded";
  if (call.outcome === "fail") return "it failed, and so it did nothing";
  return "its outcome was never known";
}

// The calls that a part shows: those that were placed or could be, and those of its key that did nothing.
export function callsOf(history: History, part: Part | undefined): number[] {
  const all = history.calls.map((_, number) => number);
  if (!part) return all;
  const own = new Set(part.calls);
  return all.filter((number) => own.has(number) || history.calls[number]!.key === part.key);
}

// The longest order, which says most.
export function longestOf(part: Part): number {
  let longest = 0;
  for (const [at, order] of part.orders.entries()) if (order.calls.length > part.orders[longest]!.calls.length) longest = at;
  return longest;
}
