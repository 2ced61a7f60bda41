// How a call site is named: by the first frame that tells it from the others, then the helper
// ("checkout.js:88 via send_request:383").
import type { Test } from "./data";

interface Frame {
  file: string;
  line: string;
  function: string;
}

// "/app/users.py:31 (get_bookings)" -> users.py, 31, get_bookings.
export function parseFrame(frame: string): Frame {
  const found = /^(.*?):(\d+)(?: \((.*)\))?$/.exec(frame);
  if (!found) return { file: frame, line: "", function: "" };
  const path = found[1] ?? "";
  return { file: path.slice(path.lastIndexOf("/") + 1), line: found[2] ?? "", function: found[3] ?? "" };
}

export function shortFrame(frame: string): string {
  const { file, line } = parseFrame(frame);
  return line ? `${file}:${line}` : file;
}

// "netflix::get(std::string const&, ...)" -> "get"; "<module>" and "operator()" stay.
function lastName(name: string): string {
  const plain = name.replace(/\(anonymous namespace\)::/g, "");
  const end = plain.slice(1).search(/[(<]/);
  const scoped = end < 0 ? plain : plain.slice(0, end + 1);
  const last = scoped.slice(scoped.lastIndexOf("::") < 0 ? 0 : scoped.lastIndexOf("::") + 2);
  return last === "operator" ? "operator()" : last;
}

function helperWords(frame: string): string {
  const parsed = parseFrame(frame);
  return parsed.function && parsed.line ? `${lastName(parsed.function)}:${parsed.line}` : shortFrame(frame);
}

export interface CallSite {
  text: string; // "" where the stack is not known
  frame: string; // the frame that tells it from the others, whole
}

// One entry for each call of the test.
export function callSites(test: Test): CallSite[] {
  const stacks = new Map<number, number[][]>(); // innermost frame -> the different stacks with it
  const seen = new Set<string>();
  for (const { stack } of test.calls) {
    const key = stack.join();
    if (stack[0] === undefined || seen.has(key)) continue;
    seen.add(key);
    const others = stacks.get(stack[0]);
    if (others) others.push(stack);
    else stacks.set(stack[0], [stack]);
  }
  const known = new Map<string, CallSite>();
  return test.calls.map(({ stack }) => {
    const key = stack.join();
    const site = known.get(key) ?? siteOf(stack, stacks.get(stack[0] ?? -1) ?? [], test.texts);
    known.set(key, site);
    return site;
  });
}

function siteOf(stack: number[], alike: number[][], texts: string[]): CallSite {
  if (stack.length === 0) return { text: "", frame: "" };
  let others = alike.filter((other) => other.join() !== stack.join());
  let at = 0;
  while (others.length > 0 && at + 1 < stack.length) {
    ++at;
    others = others.filter((other) => other[at] === stack[at]);
  }
  const frame = texts[stack[at] ?? 0] ?? "";
  const helper = texts[stack[0] ?? 0] ?? "";
  return { text: at === 0 ? shortFrame(frame) : `${shortFrame(frame)} via ${helperWords(helper)}`, frame };
}
