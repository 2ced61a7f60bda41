// Node writes what V8 counted (NODE_V8_COVERAGE) when a program ends by itself, not when SIGTERM ends it. Loaded
// by NODE_OPTIONS into the services of `filibuster run --coverage`: where the program has no handler of its own for
// SIGTERM, the counts are written then, and the signal does what it would have done.
'use strict';
if (require('worker_threads').isMainThread && process.env.NODE_V8_COVERAGE) {
  const { takeCoverage } = require('v8');
  const terminated = () => {
    if (process.listenerCount('SIGTERM') > 1) return;  // the program ends itself
    takeCoverage();
    process.removeListener('SIGTERM', terminated);
    process.kill(process.pid, 'SIGTERM');
  };
  process.on('SIGTERM', terminated);
}
