import { existsSync } from 'node:fs';
import type { Database, LoadedConfig } from '../../config/index.ts';
import { settingOf, type SettingKey } from '../../config/settings.ts';
import { StartError } from '../failure.ts';
import { findKeptSecret, findSecretProblems, isLoopback, placeOfSecrets } from '../secrets.ts';
import { type Finding, ok, problem, toProblem } from './finding.ts';

const NEW_SECRET = `One is made by: node -p "crypto.randomBytes(32).toString('base64url')"`;
/** How keys in examples begin: `your-key`, `sk-your-…`, `<key>`, `changeme`. */
const PLACEHOLDER = /^(?:sk-)?(?:your|insert|change|replace|enter|xxx|<|\.\.\.|…)/i;

/** The length and the choice of secrets, where they come from, and keys that are placeholders. */
export async function checkSecrets(
  { values, cwd }: LoadedConfig,
  { isEmbedded, filename }: Database,
): Promise<Finding> {
  const problems = findSecretProblems(values);
  const placeholders = (['model.apiKey', 'embedder.apiKey'] as const satisfies SettingKey[])
    .filter((key) => PLACEHOLDER.test(values[key] ?? ''))
    .map((key) => `${settingOf(key).env} looks like a placeholder: set the key of the provider.`);
  if (!isEmbedded || !isLoopback(values.host)) {
    const lines = problems.map(({ message }) => `${message}.`);
    if (lines.length > 0) {
      const [first = '', ...others] = lines;
      return problem(first.slice(0, -1), ...others, NEW_SECRET, ...placeholders);
    }
  }
  const missing = problems.filter(({ isMissing }) => isMissing).map(({ key }) => key);
  const file = placeOfSecrets(filename, cwd);
  const where = await explainKept(missing, file).catch((error: unknown) => {
    if (error instanceof StartError) return toProblem(error);
    throw error;
  });
  if (typeof where !== 'string') return where;
  const weak = problems.flatMap(({ isMissing, message }) =>
    isMissing ? [] : [`${message}; that is accepted on a loopback address alone.`],
  );
  const details = [...weak, ...placeholders];
  return details.length === 0 ? ok(where) : { state: 'warning', text: where, details };
}

async function explainKept(
  missing: readonly ('apiKey' | 'adminSecret')[],
  file: string,
): Promise<string> {
  if (missing.length === 0) return 'the API key and the admin secret are set';
  if (!existsSync(file)) return `the first start makes them in ${file}`;
  for (const key of missing) await findKeptSecret(key, file);
  return `made at the first start, in ${file}`;
}
