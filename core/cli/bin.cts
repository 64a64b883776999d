#!/usr/bin/env node
// What the installed `memory-service` command runs. CommonJS, because libuv reads
// UV_THREADPOOL_SIZE when its first thread starts, and Node 20 loads the first ES module on such a
// thread: set in main.ts, it would come too late for the database's readers.
process.env['UV_THREADPOOL_SIZE'] ||= '16';

void import('./main.ts').then(({ runCommand }) => runCommand());
