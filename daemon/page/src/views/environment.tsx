// What kept the session, or a test, from being explored: above everything else, since nothing below it can
// be read as a pass.
import { useLayoutEffect, useRef } from "preact/hooks";
import type { EnvironmentError } from "../data";
import { oneLine, visible, WithCode } from "../parts";

export function EnvironmentBanner({ errors }: { errors: EnvironmentError[] }) {
  if (errors.length === 0) return null;
  return (
    <section class="environment" role="alert" aria-label="Environment error">
      {errors.map((error) => (
        <article>
          <h2><span aria-hidden="true">{"\u2717"}</span> Environment error{error.test && ` in test ${oneLine(error.test)}`}</h2>
          <p class="what"><WithCode text={oneLine(error.what)} /></p>
          {error.title && <p class="quiet">{oneLine(error.title)}</p>}
          {error.lines && <LastLines text={error.lines} />}
          {error.remedy && <p class="remedy"><b>What to do:</b> <WithCode text={oneLine(error.remedy)} /></p>}
        </article>
      ))}
    </section>
  );
}

// What a program wrote last says why it ended: the end is seen first.
function LastLines({ text }: { text: string }) {
  const box = useRef<HTMLPreElement>(null);
  useLayoutEffect(() => {
    if (box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [text]);
  return <pre ref={box} tabIndex={0} aria-label="The last lines">{visible(text)}</pre>;
}
