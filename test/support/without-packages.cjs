// Loaded with --require: the packages that WITHOUT names are not installed.
const Module = require('node:module');

const without = (process.env.WITHOUT ?? '').split(',');
// @ts-expect-error: Node's own resolution, which has no type.
const { _resolveFilename: resolve } = Module;
// @ts-expect-error: as above.
Module._resolveFilename = (request, ...rest) => {
  if (!without.includes(request)) return resolve(request, ...rest);
  throw Object.assign(new Error(`Cannot find module '${request}'`), { code: 'MODULE_NOT_FOUND' });
};

// An `import` is resolved on a thread of its own.
const hook = `
const without = ${JSON.stringify(without)};
export async function resolve(specifier, context, next) {
  if (!without.includes(specifier)) return await next(specifier, context);
  const error = new Error("Cannot find package '" + specifier + "'");
  throw Object.assign(error, { code: 'ERR_MODULE_NOT_FOUND' });
}`;
Module.register(`data:text/javascript,${encodeURIComponent(hook)}`);
