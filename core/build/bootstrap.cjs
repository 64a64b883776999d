'use strict';
// What `npm start` runs in a clone: installs and builds what is missing, then becomes the command,
// in this very process, so that signals and the exit code need nobody to pass them on.
//
// CommonJS, because libuv reads UV_THREADPOOL_SIZE when its first thread starts, and Node 20 loads
// the first ES module on such a thread.

process.env.UV_THREADPOOL_SIZE = process.env.UV_THREADPOOL_SIZE || '16';

const { checkNode, ensureBuilt, ensureInstalled, orExplain } = require('./prepare.cjs');

orExplain(async () => {
  checkNode();
  await ensureInstalled();
  await ensureBuilt();
  const built = '../../dist/core/cli/main.js';
  const { runCommand } = await import(built);
  await runCommand();
});
