// The services and who calls whom, with what was tried on each edge.
import type { Test } from "../data";
import { oneLine } from "../parts";
import { go, type State } from "../store";

interface Edge {
  caller: string;
  service: string;
  calls: number; // in the reference executions
  tried: number;
  failed: number;
  masked: number;
}

function edgesOf(tests: Test[]): Edge[] {
  const edges = new Map<string, Edge>();
  const edge = (caller: string, service: string): Edge => {
    const key = JSON.stringify([caller, service]);
    let found = edges.get(key);
    if (!found) edges.set(key, (found = { caller, service, calls: 0, tried: 0, failed: 0, masked: 0 }));
    return found;
  };
  for (const test of tests) {
    for (const row of test.reference ?? []) {
      const call = test.calls[row.call];
      if (call) ++edge(call.caller || "?", call.service || "?").calls;
    }
    for (const [place, , passed, failed, redundant] of test.matrix) {
      const call = test.calls[place];
      if (!call || passed + failed + redundant === 0) continue;
      const to = edge(call.caller || "?", call.service || "?");
      ++to.tried;
      if (failed > 0) ++to.failed;
      else ++to.masked;
    }
  }
  return [...edges.values()];
}

const wide = 172, high = 34, gapX = 110, gapY = 26;
const mostServices = 80; // that are drawn; the table has all

// Each service stands one step right of the nearest service that calls it, the test leftmost.
function layersOf(edges: Edge[]): string[][] {
  const called = new Set(edges.map((edge) => edge.service));
  const roots = [...new Set(edges.map((edge) => edge.caller))].filter((name) => !called.has(name));
  const layers: string[][] = [];
  const seen = new Set<string>();
  let layer = roots.length > 0 ? roots : edges.slice(0, 1).map((edge) => edge.caller);
  while (layer.length > 0) {
    for (const name of layer) seen.add(name);
    layers.push(layer);
    const next = new Set<string>();
    for (const edge of edges) if (layer.includes(edge.caller) && !seen.has(edge.service)) next.add(edge.service);
    layer = [...next];
    if (layer.length === 0) layer = edges.flatMap((edge) => [edge.caller, edge.service]).filter((name) => !seen.has(name)).slice(0, 1);
  }
  return layers;
}

export function Map_({ state }: { state: State }) {
  const edges = edgesOf(state.summary!.tests);
  const layers = layersOf(edges);
  const services = layers.flat().length;
  const at = new Map<string, [x: number, y: number]>();
  const tallest = Math.max(1, ...layers.map((layer) => layer.length));
  layers.forEach((layer, column) => layer.forEach((name, row) => {
    const offset = ((tallest - layer.length) * (high + gapY)) / 2;
    at.set(name, [10 + column * (wide + gapX), 20 + offset + row * (high + gapY)]);
  }));
  const width = 20 + layers.length * (wide + gapX) - gapX, height = 40 + tallest * (high + gapY);
  return (
    <section>
      <h2>Services and their calls</h2>
      {edges.length === 0 && <p class="quiet">No call was seen yet.</p>}
      {services <= mostServices && edges.length > 0 && (
        <div class="scroll" tabIndex={0} role="region" aria-label="Map of services, diagram">
          <svg class="map" width={width} height={height} viewBox={`0 0 ${width} ${height}`} role="img" aria-label={`Map of ${services} services; the table below has the same in words`}>
            {edges.map((edge) => {
              const [fx, fy] = at.get(edge.caller)!, [tx, ty] = at.get(edge.service)!;
              const forward = tx > fx;
              const x1 = forward ? fx + wide : fx + wide / 2, y1 = forward ? fy + high / 2 : fy + high;
              const x2 = forward ? tx - 7 : tx + wide / 2, y2 = forward ? ty + high / 2 : ty + high + 7;
              const bend = forward ? `C${x1 + gapX / 2} ${y1} ${x2 - gapX / 2} ${y2} ${x2} ${y2}` : `C${x1} ${y1 + 40} ${x2} ${y2 + 40} ${x2} ${y2}`;
              const kind = edge.failed > 0 ? "bad" : edge.tried > 0 ? "good" : "untried";
              const words = edge.tried === 0 ? `${edge.calls}` : `${edge.failed > 0 ? `\u2717 ${edge.failed}` : "\u2713"} of ${edge.tried}`;
              return (
                <g class={`edge ${kind}`}>
                  <path class="way" d={`M${x1} ${y1} ${bend}`} />
                  <path class="head" d={forward ? `M${x2 + 7} ${y2} l-8 -4 v8 z` : `M${x2} ${y2 - 7} l-4 8 h8 z`} />
                  {forward && <text x={x2 - 6} y={y2 - 6} text-anchor="end">{words}</text>}
                </g>
              );
            })}
            {[...at].map(([name, [x, y]]) => (
              <g class="service">
                <rect x={x} y={y} width={wide} height={high} rx={4} />
                <text x={x + wide / 2} y={y + high / 2 + 5} text-anchor="middle">{name.length > 22 ? `${oneLine(name).slice(0, 21)}\u2026` : oneLine(name)}<title>{oneLine(name)}</title></text>
              </g>
            ))}
          </svg>
        </div>
      )}
      <table class="figures">
        <caption>Faults count once for each RPC. Masked: every execution with the fault as its newest one passed, or is redundant.</caption>
        <thead><tr><th scope="col">calls of</th><th scope="col">to</th><th scope="col">without faults</th><th scope="col">faults tried</th><th scope="col">failed</th><th scope="col">masked</th></tr></thead>
        <tbody>
          {edges.map((edge) => (
            <tr>
              <th scope="row">{oneLine(edge.caller)}</th>
              <td><a href={`#view=matrix&service=${encodeURIComponent(edge.service)}`} onClick={(event) => { event.preventDefault(); go({ view: "matrix", filter: { text: "", service: edge.service, fault: "", verdict: "" } }); }}>{oneLine(edge.service)}</a></td>
              <td class="number">{edge.calls}</td><td class="number">{edge.tried}</td>
              <td class={`number ${edge.failed > 0 ? "failed" : ""}`}>{edge.failed > 0 ? `\u2717 ${edge.failed}` : 0}</td><td class="number">{edge.masked}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
