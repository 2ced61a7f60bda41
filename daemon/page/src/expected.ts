// Which errors are shown as failures: not a fault, and not what the test expects, which is an error that the same
// call has in the reference execution, or without a fault of its own in an execution that passed.
import type { Executions, Row, Test } from "./data";
import { current } from "./store";

const expected = new WeakMap<Test, Set<string>>();
const passed = new WeakMap<Executions, Set<string>>();

function ofReference(test: Test): Set<string> {
  let found = expected.get(test);
  if (!found) expected.set(test, (found = new Set((test.reference ?? []).map((row) => key(test, row.call, row.outcome)))));
  return found;
}

function ofPassed(test: Test, columns: Executions, verdicts: string[]): Set<string> {
  let found = passed.get(columns);
  if (found) return found;
  passed.set(columns, (found = new Set()));
  for (let row = 0; row < columns.size; ++row) {
    if (verdicts[columns.verdict[row]!] !== "passed") continue;
    const faults = new Set(columns.faultsOf(row).map(([call]) => call));
    for (const [call, outcome] of columns.rpcsOf(row))
      if (test.outcomes[outcome]?.failed && !faults.has(call)) found.add(key(test, call, test.outcomes[outcome]!.words));
  }
  return found;
}

// The same call with another body is another one in the data.
function key(test: Test, place: number, outcome: string): string {
  const call = test.calls[place];
  return [call?.caller, call?.service, call?.name, outcome].join("\n");
}

export function unexpected(test: Test, row: Pick<Row, "call" | "outcome" | "failed" | "injected">): boolean {
  if (!row.failed || row.injected) return false;
  const { summary, executions } = current();
  const look = key(test, row.call, row.outcome);
  if (ofReference(test).has(look)) return false;
  const columns = summary && executions?.[summary.tests.indexOf(test)];
  return !columns || !ofPassed(test, columns, summary.verdicts).has(look);
}
