// An error that the reference execution has at the same call is what the test expects, and a fault is no failure of
// the application: neither is shown as one.
import type { Call, Row, Test } from "./data";

const known = new WeakMap<Test, Set<string>>();

function key(call: Call | undefined, outcome: string): string {
  return [call?.caller, call?.service, call?.name, outcome].join("\n");
}

export function unexpected(test: Test, row: Pick<Row, "call" | "outcome" | "failed" | "injected">): boolean {
  if (!row.failed || row.injected) return false;
  let seen = known.get(test);
  if (!seen) {
    seen = new Set((test.reference ?? []).map((one) => key(test.calls[one.call], one.outcome)));
    known.set(test, seen);
  }
  return !seen.has(key(test.calls[row.call], row.outcome));
}
