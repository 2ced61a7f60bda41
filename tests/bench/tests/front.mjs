// A test in Node (tests/bench/snapshot_bench.py).
const answer = await fetch(process.env.FRONT);
process.exit([200, 500, 503].includes(answer.status) ? 0 : 1);
