// What the executions reached of the services' code, and the code itself.
import { useState } from "preact/hooks";
import type { Coverage } from "../data";
import { counted, List, most, oneLine, visible } from "../parts";
import type { State } from "../store";

function percent(part: number, whole: number): string {
  return whole === 0 ? "" : `${((100 * part) / whole).toFixed(1)} %`;
}

function ranges(rows: [number, number][]): string {
  return rows.map(([first, last]) => (first === last ? `${first}` : `${first}\u2013${last}`)).join(", ");
}

export function CoverageView({ state }: { state: State }) {
  const coverage = state.summary!.coverage;
  if (!coverage) return <section class="nothing"><h2>Coverage</h2><p>It was not measured: <code>filibuster run --coverage</code> does.</p></section>;
  return (
    <section>
      <h2>Coverage that only faults reach</h2>
      <p>{counted(coverage.counts.only_under_faults, "statement")} of {coverage.counts.statements.toLocaleString("en")} only under faults; {counted(coverage.counts.never, "statement")} never.</p>
      {coverage.services.map((service) => (
        <>
          <h3>{oneLine(service.service)} {service.reason && <span class="quiet">{oneLine(service.reason)}</span>}</h3>
          {service.files.length > 0 && (
            <div class="scroll" tabIndex={0} role="region" aria-label={`Coverage of ${service.service}, table`}><table class="figures whole-words">
              <thead><tr><th scope="col">file</th><th scope="col">without faults</th><th scope="col">with faults</th><th scope="col">lines only under faults</th><th scope="col">lines never</th></tr></thead>
              <tbody>{service.files.slice(0, most).map((file) => (
                <tr><th scope="row"><code>{oneLine(file.file)}</code></th>
                  <td class="number">{percent(file.counts.without_faults, file.counts.statements)}</td><td class="number">{percent(file.counts.reached, file.counts.statements)}</td>
                  <td class="gained">{ranges(file.only_under_faults)}</td><td>{ranges(file.never)}</td></tr>
              ))}</tbody>
            </table></div>
          )}
          {service.files.slice(0, most).map((file) => <SourceOf key={file.file} file={file.file} source={coverage.sources?.[file.file]} />)}
          <List rows={service.notes} />
        </>
      ))}
      <List rows={coverage.notes} />
    </section>
  );
}

// Signs beside the lines, since colours alone do not tell.
const marks: Record<string, { name: string; sign: string; word: string }> = {
  r: { name: "reached", sign: "\u2713", word: "reached without faults" },
  f: { name: "gained-line", sign: "\u26a1", word: "only under faults" },
  n: { name: "never", sign: "\u2717", word: "never" },
  ".": { name: "", sign: " ", word: "" },
};

function SourceOf({ file, source }: { file: string; source: Coverage["sources"][string] | undefined }) {
  const [open, setOpen] = useState(false);
  if (!source) return null;
  return (
    <details class="covered" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary><code>{oneLine(file)}</code>, {counted(source.lines.length, "line")}</summary>
      {open && (
        <>
          <p class="legend">{["r", "f", "n"].map((mark) => <span class={`key ${marks[mark]!.name}`}><span class="mark">{marks[mark]!.sign}</span> {marks[mark]!.word}</span>)}</p>
          <pre class="source" tabIndex={0} role="region" aria-label={`Source of ${file} with coverage`}>
            {source.lines.map((text, i) => {
              const { name, sign, word } = marks[source.marks[i] ?? "."] ?? marks["."]!;
              return (
                <div class={name}>
                  <span class="number">{sign}{word && <span class="hidden"> {word}, line</span>} {String(i + 1).padStart(5)} </span>
                  {visible(text) || " "}
                </div>
              );
            })}
          </pre>
        </>
      )}
    </details>
  );
}
