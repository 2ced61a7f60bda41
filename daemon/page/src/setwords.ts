// Sets of faults in words. Names of calls leave out what varies from run to run, so two sets of one finding may have the
// same words: these say what differs.
import { callWords, type Call, type Fault, type Finding, type Test } from "./data";

// What may tell two faults of the same words from each other, the plainest first. "": it says nothing of this one.
type Detail = (fault: Fault, call: Call | undefined, test: Test) => string;
const details: Detail[] = [
  (_, call) => call?.name ?? "",
  (_, call) => (call && call.count > 0 ? `call ${call.count} of ${call.name}` : ""),
  (_, call, test) => {
    const parent = call && test.calls.find((one) => one.index === call.parent);
    return parent ? `within ${parent.name}${parent.count > 1 ? ` (call ${parent.count})` : ""}` : "";
  },
  (_, call, test) => (call?.stack ?? []).map((frame) => test.texts[frame] ?? "").join(" < "),
  (fault) => fault.arguments ?? "",
  (fault) => fault.key ?? fault.text,
];

// "connection refused at gateway → catalog GET /books?page=1"; the calls are named where the sets have several.
// Equal faults at the attempts of one call stand once, with their number.
function wordsOf(test: Test, finding: Finding, withCalls: boolean, kinds: Detail[]): string {
  const rows = new Map<string, { many: number; details: Set<string> }>();
  for (const fault of finding.faults) {
    const call = test.calls[fault.call];
    const words = withCalls ? `${fault.words} at ${callWords(call && { ...call, count: 1 })}` : fault.words;
    let row = rows.get(words);
    if (!row) rows.set(words, (row = { many: 0, details: new Set() }));
    ++row.many;
    const detail = kinds.map((kind) => kind(fault, call, test)).filter((text) => text !== "").join(", ");
    if (detail) row.details.add(detail);
  }
  return [...rows].map(([words, { many, details: told }]) =>
    `${many > 1 ? `${many} \u00d7 ` : ""}${words}${told.size > 0 ? ` (${[...told].join(" and ")})` : ""}`).join(", and ");
}

// The words of each set.
export function setWords(test: Test, sets: Finding[], withCalls: boolean): string[] {
  const words = sets.map((set) => wordsOf(test, set, withCalls, []));
  const alike = new Map<string, number[]>();
  words.forEach((text, at) => {
    const places = alike.get(text);
    if (places) places.push(at);
    else alike.set(text, [at]);
  });
  for (const places of alike.values()) {
    if (places.length > 1) tellApart(test, sets, withCalls, places, words);
  }
  return words;
}

// By one detail where that suffices, else by all that differ.
function tellApart(test: Test, sets: Finding[], withCalls: boolean, places: number[], words: string[]) {
  const different = (kinds: Detail[]) => new Set(places.map((at) => wordsOf(test, sets[at]!, withCalls, kinds))).size;
  const varying = details.filter((kind) => different([kind]) > 1);
  const one = varying.find((kind) => different([kind]) === places.length);
  for (const at of places) words[at] = wordsOf(test, sets[at]!, withCalls, one ? [one] : varying);
}
