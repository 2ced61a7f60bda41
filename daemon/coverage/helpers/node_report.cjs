// Reads what V8 counted in the processes of a Node service: `node --expose-internals node_report.cjs DIRECTORY OUTPUT`.
// Writes, as JSON, the lines of each source file that hold statements, and those that were reached.
//
// V8 counts ranges of the source. The statements in it are found by acorn, the parser that Node has for its own use.
'use strict';
const fs = require('fs');
const path = require('path');
const { fileURLToPath } = require('url');
const acorn = require('internal/deps/acorn/acorn/dist/acorn');

// Nodes that are no steps of the program: blocks only hold steps. (Nor are declarations of functions and imports,
// which are done before the first step; their types do not end with 'Statement'.)
const NO_STEP = new Set(['BlockStatement', 'EmptyStatement', 'LabeledStatement', 'StaticBlock']);

const isStatement = (node, parent, key) => {
  if (NO_STEP.has(node.type)) return false;
  if (node.type === 'VariableDeclaration') {
    return !(parent.type.startsWith('For') && key !== 'body') && node.declarations.some(({ init }) => init);
  }
  return node.type.endsWith('Statement') || node.type === 'ClassDeclaration'
    || (parent.type === 'ArrowFunctionExpression' && key === 'body')
    || (parent.type === 'ExportDefaultDeclaration' && node.type.endsWith('Expression'));
};

const parse = (source, file) => {
  const ways = file.endsWith('.cjs') ? ['script'] : file.endsWith('.mjs') ? ['module'] : ['script', 'module'];
  let problem;
  for (const sourceType of ways) {
    try {
      return acorn.parse(source, { sourceType, ecmaVersion: 'latest', allowHashBang: true, allowReturnOutsideFunction: sourceType === 'script' });
    } catch (error) {
      problem = error;
    }
  }
  throw problem;
};

// Offsets of the statements, by line.
const statementsOf = (source, file) => {
  const starts = [0];
  for (const end of source.matchAll(/\r\n|[\n\r\u2028\u2029]/g)) starts.push(end.index + end[0].length);
  const offsets = [];
  const open = [parse(source, file)];
  while (open.length > 0) {
    const parent = open.pop();
    for (const key of Object.keys(parent)) {
      for (const node of Array.isArray(parent[key]) ? parent[key] : [parent[key]]) {
        if (typeof node?.type !== 'string') continue;
        if (isStatement(node, parent, key)) offsets.push(node.start);
        open.push(node);
      }
    }
  }
  offsets.sort((one, other) => one - other);
  const lines = new Map();
  let line = 1;
  for (const offset of offsets) {
    while (line < starts.length && starts[line] <= offset) ++line;
    if (!lines.has(line)) lines.set(line, []);
    lines.get(line).push(offset);
  }
  return lines;
};

// The innermost range decides; V8 gives the outer ones first.
const countAt = (functions, offset) => {
  let count = 0;
  for (const { ranges } of functions) {
    for (const range of ranges) {
      if (range.startOffset <= offset && offset < range.endOffset) count = range.count;
    }
  }
  return count;
};

const main = (directory, output) => {
  const files = {}, problems = new Set(), known = new Map();
  for (const name of fs.readdirSync(directory).sort()) {
    if (!/^coverage-.*\.json$/.test(name)) continue;
    let scripts;
    try {
      scripts = JSON.parse(fs.readFileSync(path.join(directory, name), 'utf8')).result;
    } catch (error) {
      problems.add(`a process left data that cannot be read (${error.message})`);
      continue;
    }
    for (const { url, functions } of scripts) {
      if (!url.startsWith('file://')) continue;
      let file;
      try {
        file = fileURLToPath(url.replace(/[?#].*$/, ''));
      } catch {
        continue;
      }
      if (file.includes('/node_modules/') || file.startsWith('/usr/') || file.startsWith(__dirname + '/')
          || /\/filibuster\/node\.cjs$/.test(file)) {
        continue;
      }
      if (!known.has(file)) {
        try {
          known.set(file, statementsOf(fs.readFileSync(file, 'utf8'), file));
        } catch (error) {
          known.set(file, undefined);
          problems.add(`${file}: ${error.message}`);
        }
      }
      const lines = known.get(file);
      if (lines === undefined) continue;
      files[file] ??= { statements: [...lines.keys()], reached: new Set() };
      for (const [line, offsets] of lines) {
        if (offsets.some((offset) => countAt(functions, offset) > 0)) files[file].reached.add(line);
      }
    }
  }
  for (const file of Object.values(files)) file.reached = [...file.reached];
  fs.writeFileSync(output, JSON.stringify({ files, problems: [...problems] }));
};

main(...process.argv.slice(2));
