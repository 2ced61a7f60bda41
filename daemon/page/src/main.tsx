// The page of a report. In a file it has its data beside it; from a daemon it asks for them.
import { render } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Summary } from "./data";
import { counted, oneLine } from "./parts";
import { noFilter, type Filter } from "./groups";
import { follow } from "./live";
import { change, current, go, readAddress, subscribe, take, takeExecutions, views, type State } from "./store";
import { showTheme, themeNow } from "./theme";
import { chosen, Findings, shownGroups, type Shown } from "./views/findings";
import { Map_ } from "./views/map";
import { Matrix } from "./views/matrix";
import { isHistory } from "./history/data";
import { showHistory } from "./history/page";
import { isPrincipled } from "./principled/data";
import { showPrincipled } from "./principled/page";
import { ExecutionsView } from "./views/executions";
import { EnvironmentBanner } from "./views/environment";
import { Headline } from "./views/headline";
import { LiveLine } from "./views/live";
import { CoverageView } from "./views/coverage";
import { LintsView, NotesView } from "./views/rest";
import { ThemeSwitch } from "./views/theme";

const keys = [
  ["j, k", "next and previous set of faults"],
  ["n, p", "next and previous finding"],
  ["/", "search"],
  ["1 to 7", "Findings, Map, Matrix, Executions, Coverage, Lints, Notes"],
  ["c", "copy the replay command"],
  ["Escape", "leave the search, close this"],
  ["?", "this help"],
] as const;

function useStore(): State {
  const [state, setState] = useState(current());
  useEffect(() => {
    setState(current());
    return subscribe(() => setState(current()));
  }, []);
  return state;
}

function App() {
  const state = useStore();
  const [help, setHelp] = useState(false);
  const search = useRef<HTMLInputElement>(null);
  const shown = useMemo(() => (state.summary ? shownGroups(state) : []), [state.summary, state.groups, state.filter]);

  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const typing = event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement;
      if (event.key === "Escape") {
        if (typing) (event.target as HTMLElement).blur();
        setHelp(false);
        return;
      }
      if (typing) return;
      const view = views[Number(event.key) - 1];
      if (view) go({ view: view.view });
      else if (event.key === "/") openSearch(search.current);
      else if (event.key === "?") setHelp((old) => !old);
      else if (event.key === "c") document.querySelector<HTMLButtonElement>(".replay .copy")?.click();
      else if (!move(event.key, current(), shown)) return;
      event.preventDefault();
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, [shown]);

  if (state.problem) return <main class="nothing"><h1>Filibuster report</h1><p role="alert">{state.problem}</p></main>;
  const { summary } = state;
  return (
    <>
      <a class="skip" href="#main" onClick={(event) => { event.preventDefault(); document.getElementById("main")?.focus(); }}>to the content</a>
      <header class="top">
        <h1>Filibuster</h1>
        {summary && <Counts summary={summary} shown={state.groups.length} />}
        <ThemeSwitch />
        <button type="button" class="help-button" onClick={() => setHelp(!help)} aria-expanded={help}>keys ?</button>
      </header>
      {summary && <EnvironmentBanner errors={summary.environment} />}
      {state.live && <LiveLine live={state.live} />}
      {help && <dl class="keys" aria-label="Keys">{keys.map(([key, words]) => <div><dt>{key}</dt><dd>{words}</dd></div>)}</dl>}
      {summary && <Bar state={state} search={search} shown={shown} />}
      <main id="main" tabIndex={-1} class={`view-${state.view}`}>
        {!summary ? <p class="nothing quiet">{state.live?.state === "refused" ? "" : "Waiting for the reference execution \u2026"}</p>
          : state.view === "findings" ? <Findings state={state} shown={shown} />
          : state.view === "map" ? <Map_ state={state} />
          : state.view === "matrix" ? <Matrix state={state} />
          : state.view === "executions" ? <ExecutionsView state={state} />
          : state.view === "coverage" ? <CoverageView state={state} />
          : state.view === "lints" ? <LintsView state={state} />
          : <NotesView state={state} />}
      </main>
    </>
  );
}

// On a narrow screen the search is folded away.
function openSearch(search: HTMLInputElement | null) {
  if (search?.offsetParent !== null) return search?.focus();
  document.querySelector<HTMLButtonElement>(".fold")?.click();
  requestAnimationFrame(() => search.focus());
}

// j, k: by finding; n, p: by group. False: the key means nothing here.
function move(key: string, state: State, shown: Shown[]): boolean {
  const step = { j: 1, n: 1, k: -1, p: -1 }[key];
  const now = chosen(state, shown);
  if (!step || !now) return false;
  const { findings } = shown[now.at]!;
  const at = findings.indexOf(now.finding) + step;
  const inGroup = key === "j" || key === "k" ? findings[at] : undefined;
  const group = shown[now.at + step];
  const next = inGroup ?? (key === "k" ? group?.findings[group.findings.length - 1] : group?.findings[0]);
  if (next) go({ view: "findings", finding: next.id }, true);
  return true;
}

function Counts({ summary, shown }: { summary: Summary; shown: number }) {
  const sum = (of: (test: Summary["tests"][number]) => number) => summary.tests.reduce((all, test) => all + of(test), 0);
  const findings = sum((test) => test.findings.length), untested = sum((test) => test.rpcs.untested.length);
  const finished = summary.tests.length > 0 && summary.tests.every((test) => test.finished);
  return (
    <p class="counts">
      <Headline summary={summary} findings={shown} />
      {findings > shown && <> ({counted(findings, "set")} of faults)</>}
      {summary.tests.length > 0 && " \u00b7 "}{summary.tests.length === 0 ? null : summary.tests.length === 1 ? `test ${oneLine(summary.tests[0]!.test)}` : counted(summary.tests.length, "test")}
      {" \u00b7 "}{counted(sum((test) => test.counts.executed), "execution")}, {sum((test) => test.counts.redundant).toLocaleString("en")} redundant
      {summary.state === "done" && !finished && summary.environment.length === 0 && <b> {"\u00b7"} not finished</b>}
      {untested > 0 && <b> {"\u00b7"} {counted(untested, "RPC")} not tested</b>}
    </p>
  );
}

function Bar({ state, search, shown }: { state: State; search: { current: HTMLInputElement | null }; shown: Shown[] }) {
  const { tests } = state.summary!;
  const [folded, setFolded] = useState(true); // on a narrow screen
  const options = useMemo(() => {
    const services = new Set<string>(), faults = new Set<string>(), verdicts = new Set<string>();
    for (const test of tests) {
      for (const call of test.calls) if (call.service) services.add(call.service);
      for (const cell of test.matrix) faults.add(test.outcomes[cell[1]]?.text ?? "");
      for (const finding of test.findings) verdicts.add(finding.verdict);
    }
    return { service: [...services].sort(), fault: [...faults].sort(), verdict: [...verdicts].sort() };
  }, [tests]);
  const set = (part: Partial<Filter>) => go({ filter: { ...state.filter, ...part } }, true);
  const filters = Object.values(state.filter).filter((value) => value !== "").length;
  return (
    <div class="bar">
      <nav aria-label="Views">
        {views.map(({ view, title }) => (
          <a href={`#view=${view}`} aria-current={view === state.view ? "page" : undefined} onClick={(event) => { event.preventDefault(); go({ view }); }}>{title}</a>
        ))}
      </nav>
      <button type="button" class="fold" aria-expanded={!folded} aria-controls="filters" onClick={() => setFolded(!folded)}>filters{filters > 0 ? ` (${filters})` : ""}</button>
      <div id="filters" class={folded ? "filters folded" : "filters"} role="search">
        <input ref={search} type="search" placeholder="search ( / )" aria-label="Search" value={state.filter.text} onInput={(event) => set({ text: event.currentTarget.value })} />
        {(["service", "fault", "verdict"] as const).map((name) => (
          <select aria-label={`Filter by ${name}`} value={state.filter[name]} onChange={(event) => set({ [name]: event.currentTarget.value })}>
            <option value="">every {name}</option>
            {options[name].slice(0, 500).map((value) => <option value={value}>{oneLine(value).slice(0, 60)}</option>)}
          </select>
        ))}
        {filters > 0 && <button type="button" onClick={() => go({ filter: noFilter }, true)}>clear</button>}
        {filters > 0 && state.view === "findings" && <span class="quiet" role="status">{counted(shown.reduce((all, row) => all + row.findings.length, 0), "finding")}</span>}
      </div>
    </div>
  );
}

function start() {
  showTheme(themeNow());
  const text = document.getElementById("summary")?.textContent ?? "null";
  try {
    const data: unknown = JSON.parse(text);
    if (isPrincipled(data)) return showPrincipled(data);
    if (isHistory(data)) return showHistory(data);
    const summary = data as Summary | null;
    // A page without data comes from a daemon.
    if (summary) take(summary);
    else void follow();
    readAddress();
    addEventListener("popstate", readAddress);
    addEventListener("hashchange", readAddress);
    if (summary) {
      addEventListener("DOMContentLoaded", () => {
        const wait = window.requestIdleCallback ?? ((work: () => void) => setTimeout(work, 50));
        wait(() => takeExecutions(document.getElementById("executions")?.textContent ?? "[]"));
      });
    }
  } catch (problem) {
    change({ problem: `The data of this page cannot be read (${problem}). The file may have been cut short; report.json beside it has the findings, too.` });
  }
  render(<App />, document.getElementById("page")!);
}

start();
