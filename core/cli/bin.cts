#!/usr/bin/env node
// What the installed `memory-service` command runs. CommonJS, because libuv reads
// UV_THREADPOOL_SIZE when its first thread starts, and Node 20 loads the first ES module on such a
// thread: set in main.ts, it would come too late for the database's readers.
process.env['UV_THREADPOOL_SIZE'] ||= '16';

void run();

async function run(): Promise<void> {
  if (process.argv[2] === 'mcp') {
    // The command does this itself, but only when it has loaded much that this process never needs.
    const { restartWithPrivateStreams } = await import('./streams.ts');
    await restartWithPrivateStreams();
  }
  const { runCommand } = await import('./main.ts');
  await runCommand();
}
