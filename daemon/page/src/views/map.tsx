// The services and who calls whom, with what was tried on each edge.
import { useMemo, useState } from "preact/hooks";
import type { Test } from "../data";
import { boxHeight, place, type Placed } from "../layout";
import { counted, oneLine, useWidth } from "../parts";
import { go, type State } from "../store";
import { diagramBold, textWidth, wrapped } from "../text";

interface Edge {
  caller: string;
  service: string;
  calls: number; // in the reference executions
  tried: number;
  failed: number; // a finding has them
  masked: number;
  anyway: number; // tried only together with faults under which the test fails without them
}

function edgesOf(tests: Test[]): Edge[] {
  const edges = new Map<string, Edge>();
  const edge = (caller: string, service: string): Edge => {
    const key = JSON.stringify([caller, service]);
    let found = edges.get(key);
    if (!found) edges.set(key, (found = { caller, service, calls: 0, tried: 0, failed: 0, masked: 0, anyway: 0 }));
    return found;
  };
  for (const test of tests) {
    for (const row of test.reference ?? []) {
      const call = test.calls[row.call];
      if (call) ++edge(call.caller || "?", call.service || "?").calls;
    }
    for (const [place, , passed, failed, redundant, , , , , , , anyway, findings] of test.matrix) {
      const call = test.calls[place];
      if (!call || passed + failed + redundant + anyway === 0) continue;
      const to = edge(call.caller || "?", call.service || "?");
      ++to.tried;
      if (findings.length > 0) ++to.failed;
      else if (passed + redundant > 0) ++to.masked;
      else ++to.anyway;
    }
  }
  return [...edges.values()];
}

const widest = 190, narrowest = 84; // px of a name
const mostServices = 120; // that are drawn; the table has all
// Text of 12 px is not made smaller than 11 px to fit a screen: what is larger scrolls.
const leastFit = 11 / 12;
const mostOfScreen = 0.78; // a little less than styles/map.css lets the map have
const zooms = [0.25, 0.5, 0.75, leastFit, 1, 1.25, 1.5, 2];

function labelOf(edge: Edge): string {
  if (edge.tried === 0) return counted(edge.calls, "call");
  if (edge.failed > 0) return `\u2717 ${edge.failed} of ${edge.tried}`;
  return edge.masked > 0 ? `\u2713 ${edge.masked}${edge.anyway > 0 ? ` of ${edge.tried}` : ""}` : `\u2248 ${edge.tried}`;
}

function wordsOf(edge: Edge): string {
  const tried = edge.tried === 0 ? "no fault was tried" : `${counted(edge.tried, "fault")} tried, ${edge.failed} failed, ${edge.masked} masked${edge.anyway > 0 ? `, ${edge.anyway} failed anyway` : ""}`;
  return `${oneLine(edge.caller)} to ${oneLine(edge.service)}: ${counted(edge.calls, "call")} without faults, ${tried}`;
}

interface Drawn {
  placed: Placed;
  names: string[][]; // lines of each box
}

function draw(edges: Edge[]): Drawn {
  const services = [...new Set(edges.flatMap((edge) => [edge.caller, edge.service]))];
  const names = services.map((name) => wrapped(oneLine(name), widest, 2, diagramBold));
  const boxes = services.map((name, i) => {
    const out = edges.filter((edge) => edge.caller === name).length, into = edges.filter((edge) => edge.service === name).length;
    const width = Math.max(narrowest, ...names[i]!.map((line) => textWidth(line, diagramBold)));
    return { name, width: Math.ceil(width) + 20, height: boxHeight(names[i]!.length, Math.max(out, into)) };
  });
  const links = edges.map((edge) => ({ from: edge.caller, to: edge.service, label: { width: Math.ceil(textWidth(labelOf(edge), diagramBold)) + 10, height: 18 } }));
  return { placed: place(boxes, links), names };
}

export function Map_({ state }: { state: State }) {
  const tests = state.summary!.tests;
  const edges = useMemo(() => edgesOf(tests), [tests]);
  const services = new Set(edges.flatMap((edge) => [edge.caller, edge.service])).size;
  return (
    <section>
      <h2>Services and their calls</h2>
      {edges.length === 0 && <p class="quiet">No call was seen yet.</p>}
      {edges.length > 0 && (
        <p class="legend">
          <span class="key fails"><span class="mark">{"\u2717"}</span> 2 of 5: of five faults, two are part of a finding</span>
          <span class="key passes"><span class="mark">{"\u2713"}</span> 5: of five faults, none makes the test fail</span>
          {edges.some((edge) => edge.failed === 0 && edge.anyway > 0) && <span class="key"><span class="mark">{"\u2248"}</span> 5: five came only with faults under which the test fails anyway</span>}
          <span class="key"><svg class="sample" width="26" height="8" aria-hidden="true"><line x1="0" x2="26" y1="4" y2="4" /></svg> no fault was tried</span>
        </p>
      )}
      {services > mostServices && <p class="quiet">{services} services are too many for a diagram: the table has them.</p>}
      {services <= mostServices && edges.length > 0 && <Diagram edges={edges} filter={state.filter.service} />}
      <Figures edges={edges} />
    </section>
  );
}

function toMatrix(event: Event, service: string) {
  event.preventDefault();
  go({ view: "matrix", filter: { text: "", service, fault: "", verdict: "" } });
}

function Diagram({ edges, filter }: { edges: Edge[]; filter: string }) {
  const { placed, names } = useMemo(() => draw(edges), [edges]);
  const [zoom, setZoom] = useState<number | "fit">("fit");
  const [at, setAt] = useState(""); // the service that is looked at
  const [box, room] = useWidth<HTMLDivElement>();
  const fit = room === 0 ? 1 : Math.max(leastFit, Math.min(1, room / placed.width));
  const scale = zoom === "fit" ? fit : zoom;
  const next = (step: 1 | -1) => {
    const others = zooms.filter((one) => (one - scale) * step > 0.001);
    const to = step > 0 ? others[0] : others[others.length - 1];
    if (to !== undefined) setZoom(to);
  };
  const looked = at || filter;
  const touches = (edge: Edge) => !looked || edge.caller === looked || edge.service === looked;
  return (
    <>
      <p class="zoom" role="group" aria-label="Size of the map">
        <button type="button" onClick={() => next(-1)} aria-label="smaller">{"\u2212"}</button>
        <button type="button" onClick={() => next(1)} aria-label="larger">+</button>
        <button type="button" onClick={() => setZoom("fit")} aria-pressed={zoom === "fit"}>fit</button>
        <button type="button" onClick={() => setZoom(Math.min(1, room / placed.width, (mostOfScreen * innerHeight) / placed.height) || 1)}>whole</button>
        <span class="quiet">{Math.round(100 * scale)} %</span>
      </p>
      <div ref={box} class="scroll map-scroll" tabIndex={0} role="region" aria-label="Map of services, diagram">
        <svg class="map" width={placed.width * scale} height={placed.height * scale} viewBox={`0 0 ${placed.width} ${placed.height}`} role="group"
          aria-label={`Map of ${counted(placed.boxes.length, "service")}; the table below has the same in words`}>
          {edges.map((edge, i) => {
            const { way, head, label } = placed.routes[i]!;
            const kind = edge.failed > 0 ? "bad" : edge.masked > 0 ? "good" : edge.tried > 0 ? "" : "untried";
            return (
              <g class={`edge ${kind} ${touches(edge) ? "" : "dim"}`} data-caller={edge.caller} data-service={edge.service}>
                <title>{wordsOf(edge)}</title>
                <path class="way" d={way} />
                <path class="head" d={head} />
                <rect class="back" x={label.x} y={label.y} width={label.width} height={label.height} rx={4} />
                <text x={label.x + label.width / 2} y={label.y + 13} text-anchor="middle">{labelOf(edge)}</text>
              </g>
            );
          })}
          {placed.boxes.map((service, i) => (
            <a class={service.name === looked ? "service here" : "service"} href={`#view=matrix&service=${encodeURIComponent(service.name)}`}
              aria-label={`${oneLine(service.name)}: its faults in the matrix`} onClick={(event) => toMatrix(event, service.name)} data-service={service.name}
              onMouseEnter={() => setAt(service.name)} onMouseLeave={() => setAt("")} onFocus={() => setAt(service.name)} onBlur={() => setAt("")}>
              <title>{oneLine(service.name)}</title>
              <rect x={service.x} y={service.y} width={service.width} height={service.height} rx={5} />
              {names[i]!.map((line, row) => (
                <text x={service.x + service.width / 2} y={service.y + service.height / 2 + 4 + 16 * (row - (names[i]!.length - 1) / 2)} text-anchor="middle">{line}</text>
              ))}
            </a>
          ))}
        </svg>
      </div>
    </>
  );
}

function Figures({ edges }: { edges: Edge[] }) {
  const anyway = edges.some((edge) => edge.anyway > 0);
  return (
    <>
      <p class="quiet">Faults count once for each RPC. Failed: a finding has the fault. Masked: executions with it as their newest fault passed, or are redundant.{anyway && " Failed anyway: it came only with other faults, under which the test fails without it."}</p>
      <div class="scroll" tabIndex={0} role="region" aria-label="Calls between services, table">
        <table class="figures whole-words">
          <thead><tr><th scope="col">calls of</th><th scope="col">to</th><th scope="col">without faults</th><th scope="col">faults tried</th><th scope="col">failed</th><th scope="col">masked</th>{anyway && <th scope="col">failed anyway</th>}</tr></thead>
          <tbody>
            {edges.map((edge) => (
              <tr>
                <th scope="row">{oneLine(edge.caller)}</th>
                <td><a href={`#view=matrix&service=${encodeURIComponent(edge.service)}`} onClick={(event) => toMatrix(event, edge.service)}>{oneLine(edge.service)}</a></td>
                <td class="number">{edge.calls}</td><td class="number">{edge.tried}</td>
                <td class={`number ${edge.failed > 0 ? "failed" : ""}`}>{edge.failed > 0 ? `\u2717 ${edge.failed}` : 0}</td><td class="number">{edge.masked}</td>{anyway && <td class="number">{edge.anyway}</td>}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}
