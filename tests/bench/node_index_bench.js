// Inside a session (node_index_bench.py starts it): what the helper adds to a request that is made 30 frames
// deep, in rounds that turn with a control. Prints one JSON line: microseconds, one median a round.
'use strict';
const channel = require('diagnostics_channel').channel;

const FRAMES = 30;
const [rounds, calls] = [Number(process.argv[2]), 200];
const empty = channel('filibuster.bench.control');
empty.subscribe(() => {});
const made = channel('undici:request:create');  // as fetch publishes it

let fields = 0;
const request = { origin: 'http://127.0.0.1', headers: '', addHeader: () => { fields += 1; } };
const even = (depth, target) => (depth === 0 ? publish(target) : odd(depth - 1, target));
const odd = (depth, target) => (depth === 0 ? publish(target) : even(depth - 1, target));
const publish = (target) => target.publish({ request });

const median = (values) => values.sort((a, b) => a - b)[values.length >> 1];
const measure = (target) => {
  const times = [];
  for (let i = 0; i < calls; ++i) {
    const start = process.hrtime.bigint();
    even(FRAMES - 4, target);  // measure, the module's code and what calls it are the others
    times.push(Number(process.hrtime.bigint() - start) / 1000);
  }
  return median(times);
};

const results = { control: [], again: [], index: [] };
measure(made);  // the first calls aside
for (let round = 0; round < rounds; ++round) {
  results.control.push(measure(empty));
  results.index.push(measure(made));
  results.again.push(measure(empty));
}
if (fields !== (rounds + 1) * calls) throw new Error(`${fields} fields: no session?`);
console.log(JSON.stringify(results));
