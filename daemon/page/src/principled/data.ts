// principled.json (docs/schema/principled.schema.json), as the page has it.

export interface Fault {
  service: string;
  method: string;
  arguments: unknown;
  fault: string;
  call_site: string;
}

export interface Remedy {
  title: string;
  snippet: string;
}

export interface Diagnostic {
  kind: string;
  text: string;
  at: string;
  trace: string;
  faults: Fault[];
  advice: string;
  remedies: Remedy[];
}

export interface CallRow {
  call: string;
  depth: number;
  ending: string;
  fault: string;
  arguments: string;
  group: string;
}

export interface Block {
  block: string;
  passed: boolean;
  seconds: number;
  calls: CallRow[];
}

export interface Execution {
  number: number;
  name: string;
  passed: boolean;
  ahead: boolean;
  seconds: number;
  outcome: { thrown: boolean; code: string; message: string };
  blocks: Block[];
  diagnostic: Diagnostic | null;
}

export interface Test {
  test: string;
  form: string;
  service: string;
  passed: boolean;
  finished: boolean;
  time_over: boolean;  // an execution was not begun for that
  not_executed: number;
  error: string;
  executions: Execution[];
  diagnostics: Diagnostic[];
  methods: { service: string; method: string; executions: number; outcomes: string[] }[];
  notes: string[];
}

export interface Principled {
  watched: boolean; // the page is written again whenever a file changes
  principled: { error: string; tests: Test[]; diagnostics: Diagnostic[] };
}

export function isPrincipled(data: unknown): data is Principled {
  return typeof data === "object" && data !== null && "principled" in data;
}
