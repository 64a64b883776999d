import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';

const ROOT = path.resolve(import.meta.dirname, '../../..');
/** Beside the packages of the repository, but no part of them: it takes 470 MB. */
const FOLDER = path.join(ROOT, 'node_modules/.cache/embedder-local');
const ENTRY = 'node_modules/@huggingface/transformers/dist/transformers.node.mjs';

/** What installs the package for the tests that need it. */
export const COMMAND = 'npm run test:release -- test/plugins/embedder-local';

/** The package's own file; `null` if it is not installed. The release samples install it. */
export async function findTransformers(): Promise<string | null> {
  const file = path.join(FOLDER, ENTRY);
  if (!existsSync(file) && process.env['MEMORY_TEST_RELEASE'] !== undefined) {
    const flags = ['--no-save', '--ignore-scripts', '--no-audit', '--no-fund'];
    const args = ['install', '--prefix', FOLDER, ...flags, '@huggingface/transformers@^4'];
    await promisify(execFile)('npm', args);
  }
  return existsSync(file) ? pathToFileURL(file).href : null;
}
