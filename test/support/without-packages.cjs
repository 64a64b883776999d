// Loaded with --require: the packages that WITHOUT names are not installed.
const Module = require('node:module');

const without = new Set((process.env.WITHOUT ?? '').split(','));
// @ts-expect-error: Node's own resolution, which has no type.
const { _resolveFilename: resolve } = Module;
// @ts-expect-error: as above.
Module._resolveFilename = (request, ...rest) => {
  if (!without.has(request)) return resolve(request, ...rest);
  throw Object.assign(new Error(`Cannot find module '${request}'`), { code: 'MODULE_NOT_FOUND' });
};
