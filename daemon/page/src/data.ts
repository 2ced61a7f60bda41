// The document that the daemon puts into the page, or sends while an exploration runs (docs/page.md).

export interface Call {
  index: string;
  parent: string;
  caller: string;
  service: string;
  name: string;
  protocol: string;
  count: number;
  stack: number[]; // places in `texts`, innermost frame first
  path: string[];
}

// One RPC of a tree. What is absent is false, 0 or "".
export interface Row {
  call: number;
  parent: number | null; // place of a row before this one
  start: number | null; // ms since the first RPC
  end: number | null;
  outcome: string;
  failed?: boolean;
  injected?: string;
  detail?: string;
  request?: string;
  answer?: string;
  size?: number;
  digest?: string;
  received?: boolean;
  cause?: string;
}

export interface Fault {
  call: number;
  fault: string;
  text: string;
  words: string;
  arguments?: string;
  key?: string; // where faults of the same text have different bodies, headers or messages
}

// What came of an RPC in an execution, or a fault: the text that is compared, and what it is for a person.
export interface Outcome {
  fault?: string; // of a fault: what happens, in words
  text: string;
  words: string;
  failed: boolean;
}

// A test that failed, in its own words.
export interface FailedTest {
  name: string; // "": it is not known
  said: string; // the assertion with its values
  place: string; // "test_shop.py:28"; "": it is not known
  source: string; // the line there, where its runner shows it
}

export interface Finding {
  id: string;
  number: number;
  headline: string;
  faults: Fault[];
  executions: number;
  reproduced: boolean | null;
  replay: string;
  execution: number;
  verdict: string;
  detail: string;
  seen: string[]; // what the callers saw and logged, a line each
  failed: FailedTest[];
  recognised: boolean; // false: `failed` has the last lines of the output
  output: number;
  seconds: number;
}

// call, fault, passed, failed, redundant, inconclusive, open, least faults, example, verdict, like, failed anyway,
// findings (places in `findings`) whose minimal set has the fault
export type Cell = [number, number, number, number, number, number, number, number, number, string, number[], number, number[]];

export interface Lint {
  lint: string;
  severity: string;
  text: string;
  help: string;
  call_sites: string[];
}

// Where the time of an execution goes, in its order.
export const PHASES = ["prepare", "start", "rpcs", "test", "quiet", "verdict", "store"] as const;
export type Phase = (typeof PHASES)[number];

export interface Test {
  test: string;
  finished: boolean;
  counts: Record<"executed" | "scheduled" | "redundant" | "duplicate" | "beyond_bound" | "open" | "abandoned" | "left_out", number>;
  seconds: { total: number; reference: number; median_execution: number };
  start: { way: "reset" | "forked" | "ahead" | "plain"; why_not_forked: string; why_not_reset: string };
  lanes: { used: number; not_needed: number };
  profile: { executions: number; median: Record<Phase, number>; total: Record<Phase, number> };
  fault_configuration: string[];
  skipped: { what: string; reason: string }[];
  unexplained: { cause: string; executions: number; advice: string; example: string }[];
  dependencies_not_tested: { service: string; peer: string; target_service: string; reason: string; outgoing: boolean; times: number }[];
  without_cause: string[];
  nondeterminism: { varied: { rpc: string; what: string; effect: string; reason: string; under: string }[] };
  reference_again: { drifts: { what: string[]; after: number; seen: number }[] };
  notes: string[];
  rpcs: { tested: string[]; untested: { rpc: string; reason: string }[]; by_configuration: string[] };
  timeouts: { caller: string; service: string; elapsed: number; waited: number; hang_limit: number; longest: number }[];
  refusals: { caller: string; service: string; protocol: string; refused: number; reset: number }[];
  calls: Call[];
  texts: string[];
  outcomes: Outcome[];
  findings: Finding[];
  causes: { findings: string[]; mending: { text: string; findings: string[] }[] }[]; // ids
  reference: Row[] | null;
  trees: Record<string, Row[]>;
  matrix: Cell[];
  lints: Lint[];
  executions_left_out: number;
}

export interface CoverageCounts {
  statements: number;
  without_faults: number;
  reached: number;
  only_under_faults: number;
  never: number;
}

export interface Coverage {
  counts: CoverageCounts;
  services: {
    service: string;
    tools: string[];
    reason: string;
    counts: CoverageCounts;
    files: { file: string; counts: CoverageCounts; only_under_faults: [number, number][]; never: [number, number][] }[];
    notes: string[];
  }[];
  notes: string[];
  // By file; in `marks`, for each line: r reached without faults, f only under faults, n never, "." no statement.
  sources: Record<string, { lines: string[]; marks: string }>;
}

// A service that did not start, a reference execution that fails: nothing can be concluded.
export interface EnvironmentError {
  test: string; // "": it is not that of one test
  what: string;
  title: string; // of the lines
  lines: string;
  remedy: string;
}

export interface Summary {
  version: number;
  state: "running" | "done";
  session: string;
  config: string;
  exit_code: number;
  environment: EnvironmentError[];
  verdicts: string[];
  tests: Test[];
  coverage: Coverage | null;
  sources: Record<string, { first: number; lines: string[] }>;
}

interface Columns {
  number: number[];
  verdict: number[];
  ms: number[];
  faults: number[];
  rpcs: number[];
}

// The executions of one test in typed arrays: 20,000 of them take a few megabytes.
export class Executions {
  readonly size: number;
  readonly number: Uint32Array;
  readonly verdict: Uint8Array;
  readonly ms: Uint32Array;
  private readonly faults: Uint32Array;
  private readonly faultsAt: Uint32Array;
  private readonly rpcs: Uint32Array;
  private readonly rpcsAt: Uint32Array;

  constructor(columns: Columns) {
    this.size = columns.number.length;
    this.number = Uint32Array.from(columns.number);
    this.verdict = Uint8Array.from(columns.verdict);
    this.ms = Uint32Array.from(columns.ms);
    this.faults = Uint32Array.from(columns.faults);
    this.rpcs = Uint32Array.from(columns.rpcs);
    this.faultsAt = offsets(this.faults, this.size);
    this.rpcsAt = offsets(this.rpcs, this.size);
  }

  faultsOf(row: number): [call: number, fault: number][] {
    return pairs(this.faults, this.faultsAt[row] ?? 0);
  }
  rpcsOf(row: number): [call: number, outcome: number][] {
    return pairs(this.rpcs, this.rpcsAt[row] ?? 0);
  }
}

// Where each row of a column of counted pairs begins.
function offsets(column: Uint32Array, rows: number): Uint32Array {
  const out = new Uint32Array(rows);
  for (let row = 0, at = 0; row < rows; ++row) {
    out[row] = at;
    at += 1 + 2 * (column[at] ?? 0);
  }
  return out;
}

function pairs(column: Uint32Array, at: number): [number, number][] {
  const out: [number, number][] = [];
  const end = at + 1 + 2 * (column[at] ?? 0);
  for (let i = at + 1; i < end; i += 2) out.push([column[i] ?? 0, column[i + 1] ?? 0]);
  return out;
}

export function parseExecutions(text: string): Executions[] {
  const columns = JSON.parse(text) as Columns[] | null;
  return (columns ?? []).map((test) => new Executions(test));
}

export function callWords(call: Call | undefined): string {
  if (!call) return "?";
  const again = call.count > 1 ? ` (call ${call.count})` : "";
  return `${call.caller || "?"} \u2192 ${call.service || "?"} ${call.name}${again}`;
}
