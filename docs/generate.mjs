// `npm run docs`: writes the pages below docs/reference/ from the definitions in the code, and the
// code blocks of all pages from the files below examples/. test/docs/ fails when either is stale.

import { mkdir, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fillSnippets, listPages, readPage } from './generator/pages.mjs';
import { renderReference } from './generator/reference.mjs';

const require = createRequire(import.meta.url);
const {
  checkNode,
  ensureBuilt,
  ensureInstalled,
  orExplain,
  root,
} = require('../core/build/prepare.cjs');

await orExplain(async () => {
  checkNode();
  await ensureInstalled();
  // The definitions are TypeScript, which an old Node cannot import.
  await ensureBuilt();
});

const dist = (/** @type {string} */ path) =>
  import(new URL(`../dist/${path}`, import.meta.url).href);
/** @type {import('./generator/reference.mjs').Modules} */
const modules = {
  core: await dist('core/service.js'),
  errors: await dist('core/errors.js'),
  settings: await dist('core/config/settings.js'),
  option: await dist('core/config/option.js'),
  routes: await dist('core/http/routes.js'),
  components: await dist('core/http/openapi-components.js'),
  events: await dist('core/schemas/events.js'),
  remember: await dist('core/subagents/remember/prompt.js'),
  context: await dist('core/subagents/context/prompt.js'),
  verify: await dist('core/edits/verify.js'),
  mcp: await dist('plugins/mcp/http.js'),
  dreaming: await dist('plugins/dreaming/routes/list.js'),
  stores: await dist('plugins/memory-stores/routes.js'),
  dream: await dist('plugins/dreaming/prompt.js'),
  sqlite: await dist('plugins/storage-sqlite/index.js'),
  sqliteOptions: await dist('plugins/storage-sqlite/options.js'),
  mysqlOptions: await dist('plugins/storage-mysql/options.js'),
  postgresOptions: await dist('plugins/storage-postgres/options.js'),
};

let changed = 0;
for (const [path, text] of renderReference(modules)) await write(path, text);
for (const path of listPages(root)) await write(path, fillSnippets(root, path));
console.log(changed === 0 ? 'The docs were up to date.' : `${changed} page(s) written.`);

async function write(/** @type {string} */ path, /** @type {string} */ text) {
  if (readPage(root, path) === text) return;
  await mkdir(dirname(join(root, path)), { recursive: true });
  await writeFile(join(root, path), text);
  console.log(`  ${path}`);
  changed += 1;
}
