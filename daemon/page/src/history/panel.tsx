// What is known of one operation, and what the forms of bars mean.
import { oneLine } from "../parts";
import { callText, cut, outcomeText, valueText, type Call, type History, type Order, type Part } from "./data";
import { cannot, metBy, whyNot } from "./words";

const longestTitle = 200, longestValue = 20_000; // characters

function Value({ of }: { of: unknown }) {
  return <code>{cut(oneLine(valueText(of)), longestValue)}</code>;
}

function Placed({ call, number, part, order }: { call: Call; number: number; part: Part; order: Order }) {
  const at = order.calls.indexOf(number);
  if (at < 0) {
    return (
      <>
        <div><dt>place</dt><dd class={order.stuck === number ? "failed" : ""}>{whyNot(call, number, order)}</dd></div>
        {order.stuck === number && <div><dt>state that it meets</dt><dd><Value of={metBy(part, order)} />, in which it {cannot(call)}</dd></div>}
      </>
    );
  }
  return (
    <>
      <div><dt>place</dt><dd>number {(at + 1).toLocaleString("en")} of {order.calls.length.toLocaleString("en")} in the order</dd></div>
      <div><dt>state before it</dt><dd><Value of={at === 0 ? part.initial : order.states[at - 1]} /></dd></div>
      <div><dt>state behind it</dt><dd><Value of={order.states[at]} /></dd></div>
    </>
  );
}

export function Panel({ history, number, part, order }: { history: History; number: number | null; part: Part | undefined; order: Order | undefined }) {
  const call = number === null ? undefined : history.calls[number];
  if (number === null || !call) return <p class="panel quiet">All that is known of an operation stands here when it is pointed at or chosen. Arrow keys go from one to the next.</p>;
  const text = callText(call);
  return (
    <section class="panel" aria-label="Operation" tabIndex={0}>
      <p class="whole">Process <b>{oneLine(call.process)}</b>: <code>{cut(text, longestTitle)}</code></p>
      <dl>
        <div><dt>line</dt><dd>{call.line}</dd></div>
        {call.key && <div><dt>key</dt><dd>{oneLine(call.key)}</dd></div>}
        <div><dt>outcome</dt><dd>{outcomeText(call)}</dd></div>
        {part && order && <Placed call={call} number={number} part={part} order={order} />}
        {text.length > longestTitle && <div><dt>whole operation</dt><dd><code>{cut(text, longestValue)}</code></dd></div>}
      </dl>
    </section>
  );
}

// Only of the forms that are there.
export function Legend({ calls, shown, order, problems }: { calls: Call[]; shown: number[]; order: Order | undefined; problems: boolean }) {
  const has = (test: (call: Call) => boolean) => shown.some((number) => test(calls[number]!));
  const placed = new Set(order?.calls ?? []);
  const keys: [kind: string, words: string][] = [[order ? "ok placed" : "ok", order ? "an operation in the order" : "an operation"]];
  if (has((call) => call.outcome === "info")) keys.push(["info endless", "its outcome was never known: it may take effect at any later time, or never"]);
  if (has((call) => call.outcome === "fail")) keys.push(["fail apart", "failed"]);
  if (order && shown.some((number) => !placed.has(number) && number !== order.stuck && calls[number]!.outcome === "ok")) keys.push(["ok apart", "not placed, since the order ends before it"]);
  if (order && order.stuck !== null) keys.push(["stuck", "it had to come next, and cannot"]);
  if (problems) keys.push(["marked", "named by a problem"]);
  return (
    <p class="legend">
      {keys.map(([kind, words]) => <span class="key"><i class={`operation ${kind}`} aria-hidden="true" /> {words}</span>)}
      {order && order.calls.length > 0 && <span class="key"><i class="place" aria-hidden="true">1</i> where it takes effect, and its number in the order</span>}
    </p>
  );
}
