// Run by prepare.cjs on what the compiler has written. A process loads 700 modules of the service and
// 700 of TypeBox slower than most commands work, so the build joins them: one file for each module
// that something imports by its path, and core/shared for what several of these need. In the sources,
// and in the types that are published, every module stays a file.

import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { build } from 'vite';
import { writeCommonJsTypes } from './common-js-types.mjs';

const [folder = ''] = process.argv.slice(2);

/** Started by a path: the command, its beginning, and threads. */
const STARTED = [
  'core/cli/main',
  'core/cli/streams',
  'core/formats/thread',
  'plugins/embedder-local/worker',
];

/** Imported by a path from tests in processes of their own, and by what writes the docs. */
const PARTS = [
  'core/archive/spool',
  'core/config/option',
  'core/config/settings',
  'core/demo/demo-data',
  'core/demo/demo-model',
  'core/edits/verify',
  'core/errors',
  'core/files/files',
  'core/files/known-erasures',
  'core/http/app',
  'core/http/openapi-components',
  'core/http/routes',
  'core/http/server',
  'core/ids/ids',
  'core/schemas/events',
  'core/screening/screening',
  'core/service',
  'core/storage/storage',
  'core/subagents/context/prompt',
  'core/subagents/remember/prompt',
  'core/telemetry/tracer',
  'plugins/dreaming/prompt',
  'plugins/dreaming/routes/list',
  'plugins/memory-stores/routes',
  'plugins/mcp/http',
  'plugins/storage-mysql/options',
  'plugins/storage-postgres/options',
  'plugins/storage-sqlite/drivers/load',
  'plugins/storage-sqlite/options',
];

const TYPEBOX = 'typebox';
const JOINED = path.join(folder, 'joined');

const exported = readExports();
// One that is missing fails where it is imported.
const names = [...exported, ...STARTED, ...PARTS].filter((name) =>
  existsSync(path.join(folder, `${name}.js`)),
);
const { output } = await join(
  Object.fromEntries(names.map((name) => [name, path.resolve(folder, `${name}.js`)])),
);
for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
  const isJoined = path.join(folder, name).startsWith(JOINED);
  if (name.endsWith('.js') && !isJoined) rmSync(path.join(folder, name));
}
for (const { fileName, name } of output) {
  if (name === TYPEBOX) addLicense(path.join(JOINED, fileName));
}
cpSync(JOINED, folder, { recursive: true });
rmSync(JOINED, { recursive: true });
writeCommonJsTypes(path.resolve(folder), exported);

/** The modules that package.json exports, without their endings. */
function readExports() {
  /** @type {{ exports?: Record<string, { default?: string }> }} */
  const { exports = {} } = JSON.parse(readFileSync('package.json', 'utf8'));
  return Object.values(exports).flatMap(({ default: file }) =>
    file === undefined ? [] : file.replace('./dist/', '').replace(/\.js$/, ''),
  );
}

/**
 * @param {Record<string, string>} input
 * @returns {Promise<{ output: { fileName: string, name: string }[] }>}
 */
async function join(input) {
  const result = await build({
    configFile: false,
    logLevel: 'warn',
    ssr: { noExternal: [TYPEBOX] },
    build: {
      ssr: true,
      target: 'node20',
      outDir: path.resolve(JOINED),
      copyPublicDir: false,
      minify: false,
      rolldownOptions: {
        // For the paths in comments.
        cwd: path.resolve(folder),
        input,
        preserveEntrySignatures: 'strict',
        output: {
          entryFileNames: '[name].js',
          // As deep as most modules, which find others by a path from their own.
          chunkFileNames: 'core/shared/[name]-[hash].js',
          codeSplitting: { groups: [{ name: TYPEBOX, test: /node_modules[\\/]typebox/ }] },
        },
      },
    },
  });
  return /** @type {any} */ (result);
}

/** @param {string} file */
function addLicense(file) {
  const license = readFileSync('node_modules/typebox/license', 'utf8').trim();
  writeFileSync(file, `/*!\n${license}\n*/\n${readFileSync(file, 'utf8')}`);
}
