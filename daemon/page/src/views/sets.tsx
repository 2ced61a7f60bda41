// The sets of faults of one finding, in words: which fail, and what else was tried at the same calls and passed.
import { useMemo } from "preact/hooks";
import { callWords, type Cell, type Finding, type Test } from "../data";
import { counted, oneLine } from "../parts";
import { setWords } from "../setwords";
import { go } from "../store";

const mostSets = 40; // that are listed around the chosen one

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
  const words = useMemo(() => setWords(test, sets, withCalls), [test, sets, withCalls]);
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
        {shown.map((set, i) => (
          <li class={set === chosen ? "set bad here" : "set bad"}>
            <span class="sign" aria-hidden="true">{"\u2717"}</span>
            <a href={`#finding=${set.id}`} aria-current={set === chosen ? "true" : undefined} onClick={(event) => { event.preventDefault(); go({ finding: set.id }); }}>{oneLine(words[from + i] ?? "")}</a>
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
