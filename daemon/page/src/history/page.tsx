// The page of `filibuster check`: the verdict of a history, its operations over time, and the order that explains them or
// how far one goes.
import { render } from "preact";
import { useCallback, useEffect, useMemo, useState } from "preact/hooks";
import { counted, most, oneLine, visible } from "../parts";
import { ThemeSwitch } from "../views/theme";
import { VirtualRows } from "../virtual";
import { callsOf, longestOf, type History, type Part, type Problem } from "./data";
import { Diagram, type Choice } from "./diagram";
import { Legend, Panel } from "./panel";
import { Steps } from "./steps";
import { headline, ofKey, partWords, reason, scope, signs } from "./words";

const partHeight = 30; // px of a row; styles/history.css has the same
const mostLines = 20; // of a problem, that are links
const ranks = { "not linearisable": 0, "unknown": 1, "linearisable": 2 } as const;

interface Chosen {
  part: number; // in history.parts
  order: number;
  choice: Choice;
}

function firstOf(history: History, part: number): Chosen {
  const of = history.parts[part];
  const order = of ? longestOf(of) : 0;
  return { part, order, choice: { call: of?.orders[order]?.stuck ?? null, reveal: 0 } };
}

// "#part=1&order=0&call=12", in numbers of the document.
function chosenNow(history: History, sorted: number[]): Chosen {
  const address = new URLSearchParams(location.hash.slice(1));
  const number = (name: string, below: number) => {
    const text = address.get(name);
    const value = Number(text);
    return text !== null && Number.isInteger(value) && value >= 0 && value < below ? value : null;
  };
  const first = firstOf(history, number("part", history.parts.length) ?? sorted[0] ?? 0);
  const order = number("order", history.parts[first.part]?.orders.length ?? 0) ?? first.order;
  const stuck = history.parts[first.part]?.orders[order]?.stuck ?? null;
  return { part: first.part, order, choice: { call: number("call", history.calls.length) ?? stuck, reveal: 0 } };
}

function Parts({ history, sorted, chosen, choose }: { history: History; sorted: number[]; chosen: number; choose: (part: number) => void }) {
  return (
    <section class="of-parts">
      <h2>{counted(history.parts.length, "key")}</h2>
      <VirtualRows className="parts" label="Keys" role="list" count={sorted.length} height={partHeight} focus={sorted.indexOf(chosen)}
        row={(at, top) => {
          const number = sorted[at]!, part = history.parts[number]!, { sign, kind } = signs[part.verdict];
          return (
            <div key={number} class="part" role="listitem" style={{ top: `${top}px` }}>
              <button type="button" aria-pressed={number === chosen} onClick={() => choose(number)}>
                <span class={`verdict ${kind}`}>{sign}</span> <b>{oneLine(part.key) || "no key"}</b> <span class="quiet">{partWords(part)}</span>
              </button>
            </div>
          );
        }} />
    </section>
  );
}

function Problems({ history, callAt, chosen, choose, look }: { history: History; callAt: Map<number, number>; chosen: number | null; choose: (problem: number | null) => void; look: (call: number) => void }) {
  return (
    <section>
      <h2>{counted(history.problems.length, "problem")}</h2>
      <ol class="problems">
        {history.problems.slice(0, most).map((problem, at) => (
          <li class={at === chosen ? "here" : ""}>
            <span class="said">{visible(problem.text)}</span>{" "}
            {problem.lines.length > 0 && (
              <span class="quiet">{problem.lines.length === 1 ? "line" : "lines"}{" "}
                {problem.lines.slice(0, mostLines).map((line, i) => {
                  const call = callAt.get(line);
                  return <>{i > 0 && ", "}{call === undefined ? line : <button type="button" class="open" aria-label={`Show the operation of line ${line}`} onClick={() => { choose(at); look(call); }}>{line}</button>}</>;
                })}
                {problem.lines.length > mostLines && ` and ${(problem.lines.length - mostLines).toLocaleString("en")} more`}
              </span>
            )}{" "}
            {history.problems.length > 1 && <button type="button" aria-pressed={at === chosen} onClick={() => choose(at === chosen ? null : at)}>show only its operations</button>}
          </li>
        ))}
      </ol>
      {history.problems.length > most && <p class="quiet">and {(history.problems.length - most).toLocaleString("en")} more: the command prints all of them.</p>}
    </section>
  );
}

function Orders({ part, chosen, choose }: { part: Part; chosen: number; choose: (order: number) => void }) {
  if (part.orders.length < 2) return null;
  return (
    <label>Order shown{" "}
      <select value={`${chosen}`} onChange={(event) => choose(Number(event.currentTarget.value))}>
        {part.orders.map((order, at) => <option value={`${at}`}>{at + 1} of {part.orders.length}, with {counted(order.calls.length, "operation")}</option>)}
      </select>
    </label>
  );
}

function orderTitle(part: Part, whole: boolean): string {
  if (whole) return "An order that explains the history, step by step";
  return part.verdict === "unknown" ? "The longest order until the search was over, step by step" : "The longest order, step by step";
}

function callsAt(history: History): Map<number, number> {
  return new Map(history.calls.map((call, number) => [call.line, number]));
}

function markedBy(problems: Problem[], callAt: Map<number, number>): Set<number> {
  return new Set(problems.flatMap((problem) => problem.lines.flatMap((line) => callAt.get(line) ?? [])));
}

function Page({ history }: { history: History }) {
  const sorted = useMemo(() => history.parts.map((_, at) => at).sort((a, b) => ranks[history.parts[a]!.verdict] - ranks[history.parts[b]!.verdict]), [history]);
  const [chosen, setChosen] = useState(() => chosenNow(history, sorted));
  const [problem, setProblem] = useState<number | null>(null);
  const [pointed, setPointed] = useState<number | null>(null);
  useEffect(() => {
    const look = () => setChosen((old) => {
      const next = chosenNow(history, sorted);
      return { ...next, choice: { ...next.choice, reveal: old.choice.reveal + 1 } };
    });
    addEventListener("hashchange", look);
    return () => removeEventListener("hashchange", look);
  }, []);
  const callAt = useMemo(() => callsAt(history), [history]);
  const part = history.parts[chosen.part], order = part?.orders[chosen.order];
  const shown = useMemo(() => callsOf(history, part), [history, part]);
  const marked = useMemo(() => markedBy(problem === null ? history.problems : [history.problems[problem]!], callAt), [history, problem]);

  const take = (next: Chosen) => {
    setChosen(next);
    setPointed(null);
    const { call } = next.choice;
    globalThis.history.replaceState(null, "", `#part=${next.part}&order=${next.order}${call === null ? "" : `&call=${call}`}`);
  };
  const choose = useCallback((call: number, reveal: boolean) => take({ ...chosen, choice: { call, reveal: chosen.choice.reveal + (reveal ? 1 : 0) } }), [chosen]);
  // What the mouse points at changes the panel alone: a diagram of many operations is not drawn again for it.
  const diagram = useMemo(() => (
    <Diagram key={chosen.part} calls={history.calls} shown={shown} order={order} marked={marked} choice={chosen.choice} choose={choose} point={setPointed}
      label={`Operations${part ? ofKey(part) : ""} over time: ${counted(shown.length, "operation")}`} />
  ), [shown, order, marked, chosen]);

  const { sign, kind } = signs[history.verdict];
  const why = part && order ? reason(history, part, order) : "";
  const behind = part && order ? part.calls.length - order.calls.length - (order.stuck === null ? 0 : 1) : 0;
  return (
    <div class="history">
      <header class="top"><h1>Filibuster</h1><p class="counts">check of a history</p><ThemeSwitch /></header>
      <main>
        <section class="said-first">
          <p class={`headline ${kind}`}><span aria-hidden="true">{sign} </span>{headline(history)}</p>
          {why && <p class="reason">{part && history.parts.length > 1 && part.key && <b>Key {oneLine(part.key)}: </b>}{why}</p>}
          <p class="quiet">{scope(history)}{part && part.visited > 0 && ` The search${ofKey(part)} visited ${counted(part.visited, "set", "sets")} of operations.`}</p>
        </section>
        {history.problems.length > 0 && <Problems history={history} callAt={callAt} chosen={problem} choose={setProblem} look={(call) => choose(call, true)} />}
        {history.parts.length > 1 && <Parts history={history} sorted={sorted} chosen={chosen.part} choose={(next) => take(firstOf(history, next))} />}
        {shown.length > 0 && (
          <section>
            <div class="over"><h2>Operations{part ? ofKey(part) : ""} over time</h2>
              {part && <Orders part={part} chosen={chosen.order} choose={(next) => take({ ...chosen, order: next, choice: { call: part.orders[next]!.stuck, reveal: chosen.choice.reveal + 1 } })} />}</div>
            {diagram}
            <Legend calls={history.calls} shown={shown} order={order} problems={marked.size > 0} />
            <Panel history={history} number={pointed ?? chosen.choice.call} part={part} order={order} />
          </section>
        )}
        {part && order && (
          <section>
            <h2>{orderTitle(part, order.stuck === null && part.verdict === "linearisable")}</h2>
            <Steps history={history} part={part} order={order} choice={chosen.choice} choose={choose} />
            {order.stuck !== null && behind > 0 && <p class="quiet">{counted(behind, "other operation is", "other operations are")} not in this order.</p>}
          </section>
        )}
      </main>
    </div>
  );
}

export function showHistory({ history }: { history: History }) {
  document.title = `Filibuster: ${oneLine(history.file)} (${history.verdict})`;
  render(<Page history={history} />, document.getElementById("page")!);
}
