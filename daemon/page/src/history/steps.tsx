// The order in words: a row for each operation with the state behind it, and the one that cannot come next.
import { oneLine } from "../parts";
import { VirtualRows } from "../virtual";
import { callText, cut, valueText, type History, type Order, type Part } from "./data";
import type { Choice } from "./diagram";
import { cannot, metBy } from "./words";

const height = 30; // px of a row; styles/history.css has the same
const longestText = 400; // characters of a cell; the panel has the whole

interface Props {
  history: History;
  part: Part;
  order: Order;
  choice: Choice;
  choose: (call: number, reveal: boolean) => void;
}

export function Steps({ history, part, order, choice, choose }: Props) {
  const steps = order.stuck === null ? order.calls : [...order.calls, order.stuck];
  const here = choice.call === null ? -1 : steps.indexOf(choice.call);
  return (
    <VirtualRows className="steps" label="The order, step by step" role="table" count={steps.length + 1} height={height} focus={here < 0 ? undefined : here + 1}
      head={
        <div class="step head" role="row">
          <span class="number" role="columnheader">no.</span>
          <span role="columnheader" class="of">process</span>
          <span role="columnheader">operation</span>
          <span role="columnheader">state behind it</span>
        </div>
      }
      row={(at, top) => {
        if (at === 0) {
          return (
            <div key="initial" class="step" role="row" style={{ top: `${top}px` }}>
              <span class="number" role="cell">0</span><span class="of" role="cell" />
              <span class="quiet clip" role="cell">before all operations</span>
              <span class="clip" role="cell"><code>{cut(oneLine(valueText(part.initial)), longestText)}</code></span>
            </div>
          );
        }
        const number = steps[at - 1]!, call = history.calls[number]!, stuck = at > order.calls.length;
        const state = cut(oneLine(valueText(stuck ? metBy(part, order) : order.states[at - 1])), longestText);
        return (
          <div key={number} class={`step${stuck ? " stuck" : ""}${number === choice.call ? " here" : ""}`} role="row" style={{ top: `${top}px` }}>
            <span class="number" role="cell">{stuck ? "\u2717" : at}</span>
            <span class="of clip" role="cell">{oneLine(call.process)}</span>
            <span class="clip" role="cell"><button type="button" class="open" aria-pressed={number === choice.call} onClick={() => choose(number, true)}><code>{cut(callText(call), longestText)}</code></button></span>
            <span class="clip" role="cell" title={state}><code>{state}</code>{stuck && `: it ${cannot(call)}`}</span>
          </div>
        );
      }} />
  );
}
