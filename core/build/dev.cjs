'use strict';
// `npm run dev`: compiles service and console on each change, and restarts the service on what came
// out.

const { spawn } = require('node:child_process');
const path = require('node:path');
const { checkNode, ensureBuilt, ensureInstalled, orExplain, root } = require('./prepare.cjs');

orExplain(async () => {
  checkNode();
  await ensureInstalled();
  await ensureBuilt();
  const compiler = path.join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  const watch = ['-p', 'tsconfig.build.json', '--watch', '--preserveWatchOutput'];
  const bundler = path.join(root, 'node_modules', 'vite', 'bin', 'vite.js');
  const bundle = ['build', 'console', '--watch', '--logLevel', 'warn'];
  const service = [
    '--watch-path=dist',
    '--watch-preserve-output',
    'dist/core/cli/bin.cjs',
    'start',
  ];
  const children = [
    [compiler, ...watch],
    [bundler, ...bundle],
    [...service, ...process.argv.slice(2)],
  ].map((args) => spawn(process.execPath, args, { cwd: root, stdio: 'inherit' }));
  const stop = (/** @type {NodeJS.Signals} */ signal) =>
    children.forEach((child) => child.kill(signal));
  process.on('SIGINT', () => stop('SIGINT'));
  process.on('SIGTERM', () => stop('SIGTERM'));
  for (const child of children) {
    child.on('exit', (code) => {
      stop('SIGTERM');
      process.exitCode = code ?? 0;
    });
  }
});
