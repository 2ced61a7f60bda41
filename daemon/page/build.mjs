// Makes the template of report.html: one file with the bundled script and the style in it, and marks
// for what daemon/page/file.cc puts into it.
//
//   node build.mjs SOURCES OUTPUT      (run where node_modules is)
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync, renameSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";

const [sources, output] = process.argv.slice(2).map((path) => resolve(path));
const require = createRequire(join(process.cwd(), "package.json"));
const esbuild = require("esbuild");

// The MIT license asks for its notice in every copy.
const notice = ["preact", "@dagrejs/dagre", "@dagrejs/graphlib"]
  .map((name) => `/* ${name}\n${readFileSync(join(process.cwd(), "node_modules", name, "LICENSE"), "utf8")}*/`).join("\n");

const bundle = async (entry, banner) => {
  const result = await esbuild.build({
    entryPoints: [join(sources, entry)],
    bundle: true,
    write: false,
    minify: true,
    format: "iife",
    target: ["chrome100", "firefox100", "safari15"],
    charset: "ascii",
    legalComments: "none",
    banner,
    jsx: "automatic",
    jsxImportSource: "preact",
    nodePaths: [join(process.cwd(), "node_modules")],
    logLevel: "warning",
  });
  return result.outputFiles[0].text;
};

// A browser takes the hash of what stands between the tags, to the byte (CSP3 §6.7.2).
const hash = (text) => `'sha256-${createHash("sha256").update(text, "utf8").digest("base64")}'`;

const script = (await bundle("src/main.tsx", { js: notice })).replace(/<\/script/gi, "<\\/script").replace(/<!--/g, "<\\!--");
const style = await bundle("src/style.css");
const dark = await bundle("src/styles/dark.css");
const policy = [
  "default-src 'none'",
  `script-src ${hash(script)}`,
  `style-src ${hash(style)} ${hash(dark)}`,
  "img-src data:",
  "connect-src @CONNECT@",
  "base-uri 'none'",
  "form-action 'none'",
].join("; ");

// Each part stands between tags; a replacement function keeps `$` as it is.
const parts = { POLICY: policy, STYLE: style, DARK: dark, SCRIPT: script };
const page = readFileSync(join(sources, "template.html"), "utf8").replace(/\{\{(\w+)\}\}/g, (_, name) => parts[name]);

const marks = ["@CONNECT@", "@SUMMARY@", "@EXECUTIONS@", "@WITHOUT-SCRIPT@"];
let from = 0;
for (const mark of marks) {
  const at = page.indexOf(mark);
  if (at < from || page.indexOf(mark, at + 1) !== -1) {
    console.error(`build.mjs: ${mark} stands not once, or not in its place`);
    process.exit(1);
  }
  from = at;
}
writeFileSync(`${output}.new`, page);
renameSync(`${output}.new`, output);
