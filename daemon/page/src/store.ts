// What the page shows: the document, what is chosen in it, and the address that leads there again.
import { parseExecutions, type Executions, type Summary, type Test } from "./data";
import { callSites, type CallSite } from "./callsites";
import { groupsOf, noFilter, type Filter, type Group } from "./groups";

export type View = "findings" | "map" | "matrix" | "executions" | "coverage" | "lints" | "notes";
export const views: { view: View; title: string }[] = [
  { view: "findings", title: "Findings" },
  { view: "map", title: "Map" },
  { view: "matrix", title: "Matrix" },
  { view: "executions", title: "Executions" },
  { view: "coverage", title: "Coverage" },
  { view: "lints", title: "Lints" },
  { view: "notes", title: "Notes" },
];

// Of one test.
export interface Progress {
  executed: number;
  open: number;
  rate: number;
  eta: number; // seconds; -1: not known
}

export interface Live {
  state: "connecting" | "running" | "done" | "lost" | "refused";
  progress: ReadonlyMap<string, Progress>; // by test
  tries: { test: string; what: string }[]; // what is executed now
  until: number | null; // when --max-time is over, as Date.now() counts; null: there is no bound
  lines: string[]; // warnings, services: the last ones
  report: string; // path of report.html, once it is written
}

export interface State {
  summary: Summary | null;
  problem: string; // why there is nothing to show
  live: Live | null; // null: the page was opened from a file
  groups: Group[];
  sites: CallSite[][]; // by test
  executions: Executions[] | null; // null: not read yet
  view: View;
  finding: string; // id or number; "": the first one
  execution: number; // in the view of executions: 0: none
  filter: Filter;
}

let state: State = {
  summary: null,
  problem: "",
  live: null,
  groups: [],
  sites: [],
  executions: null,
  view: "findings",
  finding: "",
  execution: 0,
  filter: noFilter,
};

const listeners = new Set<() => void>();
export const current = (): State => state;
export function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function change(part: Partial<State>) {
  state = { ...state, ...part };
  for (const listener of listeners) listener();
}

export function take(summary: Summary) {
  change({
    summary,
    groups: summary.tests.flatMap(groupsOf),
    sites: summary.tests.map(callSites),
  });
}

export function takeExecutions(text: string) {
  change({ executions: parseExecutions(text) });
}

export function testOf(group: Group): Test {
  return state.summary!.tests[group.test]!;
}

// --- permalinks: "#view=matrix", "#finding=3", "#finding=e13041f3314613ea&q=timeout" ---

export function addressOf(part: Partial<State>): string {
  const to = { ...state, ...part };
  const address = new URLSearchParams();
  if (to.view !== "findings") address.set("view", to.view);
  if (to.view === "findings" && to.finding) address.set("finding", to.finding);
  if (to.view === "executions" && to.execution) address.set("execution", `${to.execution}`);
  if (to.filter.text) address.set("q", to.filter.text);
  for (const name of ["service", "fault", "verdict"] as const)
    if (to.filter[name]) address.set(name, to.filter[name]);
  return `#${address}`;
}

// Changes what is shown, and the address with it. `replace`: no step for the browser's Back.
export function go(part: Partial<State>, replace = false) {
  const address = addressOf(part);
  if (replace) history.replaceState(null, "", address);
  else history.pushState(null, "", address);
  change(part);
}

export function readAddress() {
  const address = new URLSearchParams(location.hash.slice(1));
  const view = views.find((row) => row.view === address.get("view"))?.view ?? "findings";
  change({
    view,
    finding: address.get("finding") ?? "",
    execution: Number(address.get("execution") ?? 0) || 0,
    filter: {
      text: address.get("q") ?? "",
      service: address.get("service") ?? "",
      fault: address.get("fault") ?? "",
      verdict: address.get("verdict") ?? "",
    },
  });
}
