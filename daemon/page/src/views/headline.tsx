// The first words of the page: what was found, or that nothing can be said. Only an exploration that came to
// its end and tested everything passes.
import type { Summary } from "../data";
import { counted } from "../parts";

const PASSED = 0, TIME_OVER = 4; // exit codes (docs/exit-codes.md)

export function headlineOf(summary: Summary, findings: number): { sign: string; kind: "failed" | "unsure" | "passed" | ""; words: string } {
  if (findings > 0) return { sign: "\u2717", kind: "failed", words: counted(findings, "finding") };
  if (summary.environment.length > 0) return { sign: "\u2717", kind: "failed", words: "environment error, no conclusion" };
  if (summary.state === "running") return { sign: "", kind: "", words: "no finding so far" };
  if (summary.exit_code === PASSED) return { sign: "\u2713", kind: "passed", words: "no finding" };
  if (summary.exit_code === TIME_OVER) return { sign: "", kind: "unsure", words: "no finding until the time was over" };
  return { sign: "?", kind: "unsure", words: "no finding, but not everything could be tested" };
}

export function Headline({ summary, findings }: { summary: Summary; findings: number }) {
  const { sign, kind, words } = headlineOf(summary, findings);
  return <b class={`headline ${kind}`}>{sign && `${sign} `}{words}</b>;
}
