import { lstat, readFile, readlink, realpath } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { parseEnv } from 'node:util';
import { findLineEnd } from '../../files/line-ends.ts';
import { StartError } from '../failure.ts';
import { writeAtomically } from '../secrets.ts';

/**
 * Adds variables to the end of `.env` in a folder, which only this user can read from then on. What is
 * there stays byte for byte; a link is followed. Returns the path. Throws a `StartError` or a
 * `ConfigError` that says why nothing was changed.
 */
export async function addToDotEnv(
  directory: string,
  entries: readonly (readonly [name: string, value: string])[],
): Promise<string> {
  const file = await followLink(join(directory, '.env'));
  const before = await readFile(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return Buffer.alloc(0);
    const why = error.code === 'EISDIR' ? 'it is a folder' : String(error.code);
    throw new StartError(
      `${file} cannot be added to (${why}): set the variables in the environment.`,
      { cause: error },
    );
  });
  const encoding = before[0] === 0xff && before[1] === 0xfe ? 'utf16le' : 'utf8';
  const text = decode(before);
  const lineEnd = findLineEnd(text) ?? '\n';
  const isEnded = text === '' || text.endsWith('\n') || text.endsWith('\r');
  const added = entries.map(([name, value]) => `${name}=${quote(name, value)}${lineEnd}`).join('');
  const after = Buffer.concat([before, Buffer.from((isEnded ? '' : lineEnd) + added, encoding)]);
  const expected = { ...parseEnv(text), ...Object.fromEntries(entries) };
  // As in a file whose last value is not closed by a quotation mark.
  if (!isSame(parseEnv(decode(after)), expected)) {
    throw new StartError(
      `${file} cannot be added to: its last value may lack a quotation mark. Nothing was changed.`,
    );
  }
  await writeAtomically(file, after);
  return file;
}

/** A link to a file that is not there yet leads to where it is made. */
async function followLink(path: string): Promise<string> {
  const found = await lstat(path).catch(() => null);
  if (found?.isSymbolicLink() !== true) return path;
  return await realpath(path).catch(async () => resolve(dirname(path), await readlink(path)));
}

function decode(bytes: Buffer): string {
  const isUtf16 = bytes[0] === 0xff && bytes[1] === 0xfe;
  return new TextDecoder(isUtf16 ? 'utf-16le' : 'utf-8').decode(bytes);
}

/** The value in the first form that reads as the value. */
function quote(name: string, value: string): string {
  const forms = /^[\w./:@+-]+$/.test(value)
    ? [value]
    : [`"${value}"`, `'${value}'`, `\`${value}\``];
  const form = forms.find((one) => parseEnv(`${name}=${one}\n`)[name] === value);
  if (form !== undefined) return form;
  throw new StartError(`${name} has a value that .env cannot hold: set it in the environment.`);
}

function isSame(one: object, other: object): boolean {
  const sorted = (of: object) => JSON.stringify(Object.entries(of).sort());
  return sorted(one) === sorted(other);
}
