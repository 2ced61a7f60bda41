// A finding's execution beside the reference execution: one tree of both, in which each RPC says
// whether it is the same, gone, new, different, or has the fault.
import type { Row, Test } from "./data";

export type Mark = "same" | "gone" | "new" | "different" | "fault";

export interface Both {
  depth: number;
  mark: Mark;
  why: string; // what is different
  reference: Row | null;
  now: Row | null;
}

export const markWords: Record<Mark, { sign: string; word: string }> = {
  same: { sign: "=", word: "same" },
  gone: { sign: "\u2212", word: "gone" },
  new: { sign: "+", word: "new" },
  different: { sign: "\u2260", word: "different" },
  fault: { sign: "\u26a1", word: "fault" },
};

interface Node {
  row: Row;
  children: Node[];
}

function forest(rows: Row[]): Node[] {
  const nodes = rows.map((row): Node => ({ row, children: [] }));
  const roots: Node[] = [];
  for (const node of nodes) {
    const parent = node.row.parent === null ? undefined : nodes[node.row.parent];
    (parent && parent !== node ? parent.children : roots).push(node);
  }
  return roots;
}

export function compare(test: Test, reference: Row[], now: Row[]): Both[] {
  const out: Both[] = [];
  // What a call looks like without what it carries: the same call with another body has another index.
  const look = (row: Row): string => {
    const call = test.calls[row.call];
    return call ? [call.caller, call.service, call.name, call.stack.join()].join("\n") : "";
  };

  const pair = (before: Node[], after: Node[]): Map<Node, Node> => {
    const pairs = new Map<Node, Node>();
    const left = new Set(before);
    for (const same of [(a: Row, b: Row) => a.call === b.call, (a: Row, b: Row) => look(a) === look(b)]) {
      for (const node of after) {
        if (pairs.has(node)) continue;
        for (const other of left) {
          if (!same(other.row, node.row)) continue;
          pairs.set(node, other);
          left.delete(other);
          break;
        }
      }
    }
    return pairs;
  };

  const put = (depth: number, reference: Node | null, now: Node | null) => {
    const [mark, why] = judge(reference?.row ?? null, now?.row ?? null);
    out.push({ depth, mark, why, reference: reference?.row ?? null, now: now?.row ?? null });
    merge(depth + 1, reference?.children ?? [], now?.children ?? []);
  };

  const merge = (depth: number, before: Node[], after: Node[]) => {
    const pairs = pair(before, after);
    const paired = new Set(pairs.values());
    let next = 0;
    for (const node of after) {
      const other = pairs.get(node);
      if (other) {
        // What is gone stands where it stood: before the next call that both have.
        const place = before.indexOf(other);
        for (; next < place; ++next) {
          const gone = before[next];
          if (gone && !paired.has(gone)) put(depth, gone, null);
        }
        next = Math.max(next, place + 1);
      }
      put(depth, other ?? null, node);
    }
    for (; next < before.length; ++next) {
      const gone = before[next];
      if (gone && !paired.has(gone)) put(depth, gone, null);
    }
  };

  merge(0, forest(reference), forest(now));
  return out;
}

function judge(reference: Row | null, now: Row | null): [Mark, string] {
  if (now?.injected) return ["fault", ""];
  if (!now) return ["gone", ""];
  if (!reference) return ["new", ""];
  if (reference.outcome !== now.outcome) return ["different", `${reference.outcome} became ${now.outcome}`];
  if (reference.call !== now.call) return ["different", "another request"];
  if ((reference.digest ?? "") !== (now.digest ?? "")) return ["different", "another answer"];
  return ["same", ""];
}
