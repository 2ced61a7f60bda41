// The page of `filibuster principled`: executions by block with the fault marked, what is missing, and what to paste.
import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Copy, counted, duration, oneLine, visible } from "../parts";
import type { Block, Diagnostic, Execution, Principled, Test } from "./data";

const again = 1500; // milliseconds until a watched page is read again

// "0.3": the first test's execution with number 3. "0": what is said of the test as a whole.
function chosenNow(tests: Test[]): string {
  const wanted = decodeURIComponent(location.hash.slice(1));
  const [test, number] = wanted.split(".").map(Number);
  if (wanted !== "" && tests[test!] && (number === undefined || tests[test!]!.executions.some((one) => one.number === number))) return wanted;
  for (const [at, one] of tests.entries()) {
    const failed = one.executions.find((execution) => execution.diagnostic);
    if (failed) return `${at}.${failed.number}`;
  }
  const first = tests[0]?.executions[0];
  return first ? `0.${first.number}` : "0";
}

function Said({ diagnostic }: { diagnostic: Diagnostic }) {
  return (
    <section class="diagnostic" aria-label="Diagnostic">
      <h3><code>{diagnostic.kind}</code></h3>
      <p>{visible(diagnostic.text)}</p>
      {diagnostic.at && <p class="quiet">at <code>{oneLine(diagnostic.at)}</code></p>}
      {diagnostic.faults.map((fault) => (
        <p class="quiet">
          fault <b>{oneLine(fault.method)}</b>: <code>{fault.fault}</code>
          {fault.arguments !== null && <> <code>{oneLine(JSON.stringify(fault.arguments))}</code></>}
          {fault.call_site && <>, called at <code>{oneLine(fault.call_site)}</code></>}
        </p>
      ))}
      {diagnostic.trace && <pre tabIndex={0} aria-label="What the block said">{visible(diagnostic.trace)}</pre>}
      {diagnostic.remedies.length > 0 && (
        <>
          <p><b>{visible(diagnostic.advice)}</b></p>
          <ol class="remedies">
            {diagnostic.remedies.map((remedy) => (
              <li>
                <p>{visible(remedy.title)} <Copy text={remedy.snippet} label={`Copy the statement: ${oneLine(remedy.title)}`} /></p>
                <pre tabIndex={0} aria-label="Statement">{visible(remedy.snippet)}</pre>
              </li>
            ))}
          </ol>
        </>
      )}
    </section>
  );
}

function Calls({ block }: { block: Block }) {
  if (block.calls.length === 0) return null;
  return (
    <table>
      <thead><tr><th>call</th><th>arguments</th><th>answer</th><th>fault</th></tr></thead>
      <tbody>
        {block.calls.map((row) => (
          <tr class={row.fault ? "faulted" : ""}>
            <td><span aria-hidden="true">{"\u00a0\u00a0".repeat(row.depth)}{row.depth > 0 ? "\u21b3 " : ""}</span>{oneLine(row.call)}{row.group && <i class="quiet"> {oneLine(row.group)}</i>}</td>
            <td><code>{oneLine(row.arguments)}</code></td>
            <td>{oneLine(row.ending)}</td>
            <td>{row.fault && <b>{`\u26a1 ${row.fault}`}</b>}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function OneExecution({ execution }: { execution: Execution }) {
  const { outcome } = execution;
  return (
    <>
      <h2>{oneLine(execution.name)}</h2>
      <p class="quiet">
        execution {execution.number}, {duration(execution.seconds * 1000)}; the service answered{" "}
        {outcome.thrown ? <b>{oneLine(`${outcome.code} ${outcome.message}`)}</b> : "with a success"}
        {execution.ahead && "; run ahead, to know which statements can be offered"}
      </p>
      {execution.diagnostic && <Said diagnostic={execution.diagnostic} />}
      {execution.blocks.map((block) => (
        <section class="block" aria-label={`Block ${block.block}`}>
          <h3><span class={`verdict ${block.passed ? "good" : "bad"}`}>{block.passed ? "\u2713" : "\u2717"}</span> {block.block} <span class="quiet">{duration(block.seconds * 1000)}</span></h3>
          <Calls block={block} />
        </section>
      ))}
    </>
  );
}

function OfTest({ test }: { test: Test }) {
  return (
    <>
      <h2>{oneLine(test.test)}</h2>
      {test.error && <p><b>It could not go on:</b> {visible(test.error)}</p>}
      {test.diagnostics.map((diagnostic) => <Said diagnostic={diagnostic} />)}
      <h3>Methods of the service</h3>
      <table>
        <thead><tr><th>method</th><th>executions</th><th>answers</th></tr></thead>
        <tbody>
          {test.methods.map((one) => (
            <tr><td>{oneLine(one.method)} <span class="quiet">of {oneLine(one.service)}</span></td><td>{one.executions}</td><td>{one.outcomes.length > 0 ? oneLine(one.outcomes.join(", ")) : "never called"}</td></tr>
          ))}
        </tbody>
      </table>
      {test.notes.map((note) => <p class="quiet">{visible(note)}</p>)}
    </>
  );
}

function summaryOf(test: Test): string {
  const judged = counted(test.executions.filter((one) => !one.ahead).length, "execution");
  if (test.passed && test.finished) return `${judged}, and all that is stated holds`;
  if (test.time_over && test.executions.length === 0) return "not begun, since the time was over";
  if (test.time_over) return `${judged}, ${test.not_executed} known ones not begun, since the time was over`;
  return test.not_executed > 0 ? `${judged}, ${test.not_executed} known ones not run` : judged;
}

function Page({ data }: { data: Principled }) {
  const { tests, diagnostics, error } = data.principled;
  const [chosen, choose] = useState(chosenNow(tests));
  useEffect(() => {
    const look = () => choose(chosenNow(tests));
    addEventListener("hashchange", look);
    const timer = data.watched ? setTimeout(() => location.reload(), again) : 0;
    return () => {
      removeEventListener("hashchange", look);
      clearTimeout(timer);
    };
  }, []);
  const [at, number] = chosen.split(".").map(Number);
  const test = tests[at!];
  const execution = test?.executions.find((one) => one.number === number);
  return (
    <div class="principled">
      <header>
        <h1>Principled testing</h1>
        {error && <p><b>{visible(error)}</b></p>}
        {tests.map((one) => <p class="counts">{oneLine(one.test)}: {summaryOf(one)}</p>)}
      </header>
      <nav aria-label="Executions">
        {tests.map((one, place) => (
          <section>
            <h2><a href={`#${place}`} aria-current={chosen === `${place}` ? "page" : undefined}>{oneLine(one.test)}</a></h2>
            <ol>
              {one.executions.map((row) => (
                <li>
                  <a href={`#${place}.${row.number}`} aria-current={chosen === `${place}.${row.number}` ? "page" : undefined}>
                    <span class={`verdict ${row.ahead ? "unsure" : row.passed ? "good" : "bad"}`}>{row.ahead ? "\u2026" : row.passed ? "\u2713" : "\u2717"}</span> {oneLine(row.name)}
                  </a>
                </li>
              ))}
            </ol>
          </section>
        ))}
      </nav>
      <main>
        {diagnostics.map((diagnostic) => <Said diagnostic={diagnostic} />)}
        {execution ? <OneExecution execution={execution} /> : test ? <OfTest test={test} /> : <p>There is no test.</p>}
      </main>
    </div>
  );
}

export function showPrincipled(data: Principled) {
  document.title = "Filibuster: principled testing";
  render(<Page data={data} />, document.getElementById("page")!);
}
