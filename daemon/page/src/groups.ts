// Findings by their cause: the same failure at the same call sites, fewer faults first (daemon/report/causes.h). Their
// order is that of the terminal.
import { callWords, type Finding, type Test } from "./data";

export interface Group {
  test: number; // place among the tests
  key: string;
  calls: number[]; // of the first finding
  findings: Finding[];
  mending: { text: string; findings: Finding[] }[]; // what would mend them, smallest set first
}

export function groupsOf(test: Test, place: number): Group[] {
  const byId = new Map(test.findings.map((finding) => [finding.id, finding]));
  const known = (ids: string[]) => ids.flatMap((id) => byId.get(id) ?? []);
  return test.causes.map(({ findings: ids, mending: rows }) => {
    const findings = known(ids);
    const mending = rows.map((row) => ({ text: row.text, findings: known(row.findings) }));
    const calls = [...new Set(findings[0]?.faults.map((fault) => fault.call) ?? [])].sort((a, b) => a - b);
    return { test: place, key: ids[0] ?? "", calls, findings, mending };
  });
}

export interface Filter {
  text: string;
  service: string;
  fault: string;
  verdict: string;
}

export const noFilter: Filter = { text: "", service: "", fault: "", verdict: "" };

// The findings of a group that a filter leaves.
export function filtered(group: Group, test: Test, sites: { text: string }[], filter: Filter): Finding[] {
  const text = filter.text.trim().toLowerCase();
  return group.findings.filter((finding) => {
    if (filter.verdict && finding.verdict !== filter.verdict) return false;
    if (filter.fault && !finding.faults.some((fault) => fault.fault === filter.fault)) return false;
    const serves = (call: number) => test.calls[call]?.service === filter.service || test.calls[call]?.caller === filter.service;
    if (filter.service && !finding.faults.some((fault) => serves(fault.call))) return false;
    if (!text) return true;
    const words = [finding.id, `${finding.number}`, finding.headline, finding.detail, test.texts[finding.output] ?? ""];
    for (const fault of finding.faults)
      words.push(callWords(test.calls[fault.call]), fault.text, fault.words, sites[fault.call]?.text ?? "");
    return words.join("\n").toLowerCase().includes(text);
  });
}
