// The sets of faults of one finding, in words: which fail, and what else was tried at the same calls and passed.
import { callWords, type Cell, type Finding, type Test } from "../data";
import { counted, oneLine } from "../parts";
import { go } from "../store";

const mostSets = 40; // that are listed around the chosen one

// "connection refused at gateway → catalog GET /books?page=1"; the calls are named where the sets have several.
// Equal faults at the attempts of one call stand once, with their number.
export function setWords(test: Test, finding: Finding, withCalls: boolean): string {
  const times = new Map<string, number>();
  for (const fault of finding.faults) {
    const call = test.calls[fault.call];
    const words = oneLine(withCalls ? `${fault.words} at ${callWords(call && { ...call, count: 1 })}` : fault.words);
    times.set(words, (times.get(words) ?? 0) + 1);
  }
  return [...times].map(([words, many]) => (many > 1 ? `${many} \u00d7 ${words}` : words)).join(", and ");
}

function callsOf(sets: Finding[]): number[] {
  return [...new Set(sets.flatMap((set) => set.faults.map((fault) => fault.call)))];
}

interface AtCall {
  call: number;
  words: string[];
}

// The faults that the test passes under alone, and those that were not executed, by call.
function othersAt(test: Test, calls: number[]): { passed: AtCall[]; open: AtCall[] } {
  const words = (cells: Cell[]) => calls.map((call) => ({ call, words: cells.filter((cell) => cell[0] === call).map((cell) => oneLine(test.outcomes[cell[1]]?.fault ?? "?")) }))
    .filter((row) => row.words.length > 0);
  const alone = test.matrix.filter((cell) => cell[7] === 1 && cell[9] === "passed");
  const open = test.matrix.filter((cell) => cell[2] + cell[3] + cell[11] === 0);
  return { passed: words(alone), open: words(open) };
}

export function Sets({ test, sets, chosen }: { test: Test; sets: Finding[]; chosen: Finding }) {
  const calls = callsOf(sets);
  const withCalls = calls.length > 1;
  const { passed, open } = othersAt(test, calls);
  if (sets.length < 2 && passed.length === 0 && open.length === 0) return null;
  const at = sets.indexOf(chosen);
  const from = Math.max(0, Math.min(at - mostSets / 2, sets.length - mostSets));
  const shown = sets.slice(from, from + mostSets);
  const atCall = (row: AtCall) => `${withCalls ? `${oneLine(callWords(test.calls[row.call]))}: ` : ""}${row.words.slice(0, mostSets).join("; ")}`;
  return (
    <section aria-labelledby="sets">
      <h3 id="sets">What fails and what passes {withCalls ? "at these calls" : "at this call"}</h3>
      <ul class="sets">
        {shown.map((set) => (
          <li class={set === chosen ? "set bad here" : "set bad"}>
            <span class="sign" aria-hidden="true">{"\u2717"}</span>
            <a href={`#finding=${set.id}`} aria-current={set === chosen ? "true" : undefined} onClick={(event) => { event.preventDefault(); go({ finding: set.id }); }}>{setWords(test, set, withCalls)}</a>
            <span class="quiet"> {verdictWords(set)}{set.number > 0 && `, finding ${set.number}`}{set.reproduced === false && ", did not reproduce"}</span>
          </li>
        ))}
        {sets.length > shown.length && <li class="quiet">{from + 1} to {from + shown.length} of {counted(sets.length, "set")} of faults; j and k go on</li>}
        {passed.slice(0, mostSets).map((row) => <li class="set good"><span class="sign" aria-hidden="true">{"\u2713"}</span> {atCall(row)} <span class="quiet">alone: the test passes</span></li>)}
        {open.slice(0, mostSets).map((row) => <li class="set unsure"><span class="sign" aria-hidden="true">?</span> {atCall(row)} <span class="quiet">not executed, or without a conclusion (<a href="#view=matrix">matrix</a>)</span></li>)}
      </ul>
    </section>
  );
}

function verdictWords(set: Finding): string {
  switch (set.verdict) {
    case "crashed": return "a service crashes";
    case "test-timeout": return "the test does not end";
    case "no-timeout": return "a caller waits without end";
    case "possible-silent-violation": return "the server does it twice";
    default: return "the test fails";
  }
}
