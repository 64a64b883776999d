import { randomBytes, timingSafeEqual } from 'node:crypto';
import { chmod, open, rename, rm, stat } from 'node:fs/promises';
import { BlockList, isIP } from 'node:net';
import { dirname, join, resolve } from 'node:path';
import { parseForeignJson } from '../encoding/foreign-json.ts';
import { ConfigError } from '../config/error.ts';
import type { Database } from '../config/index.ts';
import { settingOf } from '../config/settings.ts';
import { readTextFile } from '../config/text-file.ts';
import { StartError } from './failure.ts';

/** The secrets of this start. */
interface Secrets {
  apiKeys: readonly string[];
  adminSecret: string;
  /** The file with generated secrets, if any of them comes from it. */
  file: string | null;
}

/** The two secrets from the configuration. */
interface GivenSecrets {
  apiKey: readonly string[] | null;
  adminSecret: string | null;
}

const MIN_LENGTH = 32;

/**
 * Chooses the secrets for a start. With an embedded database on a loopback address, missing ones are read from
 * `file`, and generated at the first start. Anywhere else both must be configured and strong;
 * otherwise a `ConfigError` says which is not, and why.
 *
 * @param options.file the file for generated secrets, beside the database.
 */
export async function decideSecrets(
  given: GivenSecrets,
  options: { host: string; database: Pick<Database, 'name' | 'isEmbedded'>; file: string },
): Promise<Secrets & { warnings: readonly string[] }> {
  const problems = findSecretProblems(given);
  if (options.database.isEmbedded && isLoopback(options.host)) {
    const kept = await keepSecrets(given, options.file);
    const warnings = problems
      .filter(({ isMissing }) => !isMissing)
      .map(({ message }) => `${message}; that is accepted on a loopback address alone`);
    return { ...kept, warnings };
  }
  const [problem] = problems;
  if (problem !== undefined) {
    const where = options.database.isEmbedded
      ? `listening on ${options.host}, which others can reach`
      : `with a ${options.database.name} database`;
    throw new ConfigError(
      problem.key,
      `${problem.message}. Secrets of ${MIN_LENGTH} characters or more are needed ${where}; one is made by: node -p "crypto.randomBytes(32).toString('base64url')"`,
    );
  }
  return {
    apiKeys: given.apiKey ?? [],
    adminSecret: given.adminSecret ?? '',
    file: null,
    warnings: [],
  };
}

/** The file for generated secrets: beside the database, or beside the default one. */
export function placeOfSecrets(filename: string | null, cwd: string): string {
  return filename === null
    ? resolve(cwd, 'data', 'secrets.json')
    : join(dirname(filename), 'secrets.json');
}

/**
 * Reads a secret that another process stored in its file. A command needs it to talk to the server
 * that has the database open. Throws a `StartError` that names the setting to use instead.
 */
export async function findKeptSecret(
  name: 'apiKey' | 'adminSecret',
  file: string,
): Promise<string> {
  const setting = settingOf(name).env;
  let kept: unknown;
  try {
    kept = (parseForeignJson(await readTextFile(file)) as Record<string, unknown>)[name];
  } catch (cause) {
    throw new StartError(
      `A server has the database open, and ${file} cannot be read for its ${name}: set ${setting}.`,
      { cause },
    );
  }
  if (typeof kept === 'string') return kept;
  throw new StartError(`${file} holds no ${name}: set ${setting}.`);
}

/** Whether only this machine can reach the address. The only such name is `localhost`. */
export function isLoopback(host: string): boolean {
  const bare = host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host;
  // DNS or a hosts file may point any other name elsewhere.
  if (bare.toLowerCase() === 'localhost') return true;
  const version = isIP(bare);
  return version !== 0 && LOOPBACK.check(bare, version === 4 ? 'ipv4' : 'ipv6');
}

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

/** What is wrong with a given secret. */
export interface SecretProblem {
  key: 'apiKey' | 'adminSecret';
  message: string;
  isMissing: boolean;
}

/** The secrets that are missing or weak. */
export function findSecretProblems({ apiKey, adminSecret }: GivenSecrets): SecretProblem[] {
  const problems: SecretProblem[] = [];
  const keys = apiKey ?? [];
  const check = (key: SecretProblem['key'], name: string, secret: string | null) => {
    const isMissing = secret === null;
    const message = isMissing ? 'is not set' : findWeakness(secret);
    if (message !== null) problems.push({ key, message: `${name} ${message}`, isMissing });
  };
  if (keys.length === 0) check('apiKey', 'SERVICE_API_KEY', null);
  keys.forEach((key, index) => {
    check(
      'apiKey',
      keys.length === 1
        ? 'SERVICE_API_KEY'
        : `SERVICE_API_KEY (the ${index + 1}. of ${keys.length})`,
      key,
    );
  });
  check('adminSecret', 'SERVICE_ADMIN_SECRET', adminSecret);
  if (adminSecret !== null && keys.some((key) => isSame(key, adminSecret))) {
    const message = 'SERVICE_API_KEY and SERVICE_ADMIN_SECRET are the same';
    problems.push({ key: 'adminSecret', message, isMissing: false });
  }
  return problems;
}

/**
 * Why a secret is easy to guess, as the end of a sentence `SERVICE_API_KEY …`; `null` if it is not.
 */
export function findWeakness(secret: string): string | null {
  if (secret.trim() === '') return 'is blank';
  if (secret.length < MIN_LENGTH)
    return `has ${secret.length} characters, fewer than ${MIN_LENGTH}`;
  if (isRepetition(secret)) return 'repeats itself';
  if (new Set(secret).size < 8 || isSequence(secret)) return 'is a simple pattern';
  if (isMadeOfWellKnownWords(secret)) return 'is made of words that everybody tries first';
  return null;
}

/** `aaaa…`, `passwordpassword…`: a repeated unit of at most half the length. */
function isRepetition(secret: string): boolean {
  for (let unit = 1; unit <= secret.length / 2; unit++) {
    if (secret.slice(unit) === secret.slice(0, secret.length - unit)) return true;
  }
  return false;
}

/** `abcdef…`, `987654…`, but not keyboard rows: three of four steps are the same small one. */
function isSequence(secret: string): boolean {
  let steps = 0;
  for (let index = 1; index < secret.length; index++) {
    const step = secret.charCodeAt(index) - secret.charCodeAt(index - 1);
    if (Math.abs(step) <= 1) steps += 1;
  }
  return steps >= (secret.length - 1) * 0.75;
}

const WELL_KNOWN = (
  'a abc access account admin administrator agent an and api apikey app application at auth authentication ' +
  'be bearer better by change changed changeit changeme characters chars config credential credentials ' +
  'default demo dev development dummy enter example fake fill fixme foo bar baz for generate generated go ' +
  'goes hackme hello here hunter iloveyou in insecure insert is it key known least letmein local login long ' +
  'longer master me memory min minimum monkey more must my name need needs never no not now of on one or ' +
  'our pass passphrase passwd password placeholder please private prod production put qwerty qwertyuiop ' +
  'random real replace replaceme root safe sample secret secretkey secrets secure security select server ' +
  'service set should some something string super supersecret system temp temporary test testing text that ' +
  'the thing this to todo token top trustno unsafe up update use user username value very welcome with ' +
  'word world x xxx you your yours'
).split(' ');

/** Whether it consists only of well-known words and digits, ignoring case and punctuation. */
function isMadeOfWellKnownWords(secret: string): boolean {
  const plain = secret
    .toLowerCase()
    .replaceAll('@', 'a')
    .replaceAll('$', 's')
    .replace(/[^a-z0-9]/g, '');
  if (/^\d*$/.test(plain)) return false;
  // reachable[i]: the first i characters are words. A digit may also stand for a letter
  // (leetspeak).
  const text = plain
    .replaceAll('0', 'o')
    .replaceAll('1', 'i')
    .replaceAll('3', 'e')
    .replaceAll('4', 'a');
  const reachable = [true];
  for (let end = 1; end <= plain.length; end++) {
    reachable[end] =
      (/[0-9]/.test(plain.charAt(end - 1)) && reachable[end - 1] === true) ||
      WELL_KNOWN.some((word) => {
        const start = end - word.length;
        return (
          start >= 0 &&
          reachable[start] === true &&
          (plain.startsWith(word, start) || text.startsWith(word, start))
        );
      });
  }
  return reachable[plain.length] === true;
}

function isSame(one: string, other: string): boolean {
  const [left, right] = [Buffer.from(one.trim()), Buffer.from(other.trim())];
  return left.length === right.length && timingSafeEqual(left, right);
}

/** Fills in missing secrets from the file, and writes the ones that the file lacks. */
async function keepSecrets(given: GivenSecrets, file: string): Promise<Secrets> {
  if (given.apiKey !== null && given.adminSecret !== null) {
    return { apiKeys: given.apiKey, adminSecret: given.adminSecret, file: null };
  }
  const kept = await readSecrets(file);
  const apiKey = kept.apiKey ?? randomBytes(32).toString('base64url');
  const adminSecret = kept.adminSecret ?? randomBytes(32).toString('base64url');
  if (kept.apiKey === null || kept.adminSecret === null) {
    await writeAtomically(file, `${JSON.stringify({ apiKey, adminSecret }, null, 2)}\n`);
  }
  return {
    apiKeys: given.apiKey ?? [apiKey],
    adminSecret: given.adminSecret ?? adminSecret,
    file,
  };
}

async function readSecrets(
  file: string,
): Promise<{ apiKey: string | null; adminSecret: string | null }> {
  let text: string;
  try {
    text = await readTextFile(file);
    // A copied or restored file loses its mode.
    if (((await stat(file)).mode & 0o077) !== 0) await chmod(file, 0o600);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return { apiKey: null, adminSecret: null };
    throw new ConfigError(null, `${file} cannot be read (${String(code)}).`, { cause: error });
  }
  try {
    const { apiKey, adminSecret } = parseForeignJson(text) as Record<string, unknown>;
    return { apiKey: takeKept(apiKey), adminSecret: takeKept(adminSecret) };
  } catch (error) {
    // Without the parser's message, which quotes the text.
    throw new ConfigError(
      null,
      `${file} does not hold { "apiKey": "…", "adminSecret": "…" } with ${MIN_LENGTH} characters or more each: mend it, or remove it to have new secrets generated.`,
      { cause: error instanceof SyntaxError ? undefined : error },
    );
  }
}

function takeKept(value: unknown): string | null {
  if (value === undefined) return null;
  if (typeof value === 'string' && findWeakness(value) === null) return value;
  throw new TypeError('not a good secret');
}

/**
 * Writes a file that only this user can read: at once, and not readable by others even for a moment.
 * Throws a `ConfigError` that names the file.
 */
export async function writeAtomically(file: string, content: string | Uint8Array): Promise<void> {
  const temporary = `${file}.${process.pid}.tmp`;
  try {
    const handle = await open(temporary, 'wx', 0o600);
    try {
      await handle.writeFile(content);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(temporary, file);
    const directory = await open(dirname(file), 'r');
    await directory.sync().finally(() => directory.close());
  } catch (error) {
    await rm(temporary, { force: true });
    const { code } = error as NodeJS.ErrnoException;
    throw new ConfigError(null, `${file} cannot be written (${String(code)}).`, { cause: error });
  }
}
