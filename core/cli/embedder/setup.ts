import { existsSync } from 'node:fs';
import { ConfigError } from '../../config/error.ts';
import { describeDatabase, loadConfig, type LoadedConfig } from '../../config/index.ts';
import { parseSetting } from '../../config/parse.ts';
import { settingOf, type SettingKey } from '../../config/settings.ts';
import type { AdminStatus } from '../../contracts/admin.ts';
import { useProxies } from '../../network/proxy.ts';
import type { CommandContext } from '../command.ts';
import { awaitVectors, embedHere } from '../embed-memory.ts';
import { StartError } from '../failure.ts';
import { workOnMemory } from '../open-memory.ts';
import type { RunningServer } from '../running-server.ts';
import { writeOutput } from '../streams.ts';
import { chooseEmbedder, type Proposal } from './choose.ts';
import { addToDotEnv } from './dot-env.ts';
import { describeTrial, type Trial, tryEmbedder } from './try-embedder.ts';
import { UsageError } from './usage-error.ts';

/** Settings that mean nothing, or give a key away, with another server. */
const OF_ONE_SERVER = ['embedder.baseUrl', 'embedder.apiKey'] as const satisfies SettingKey[];

/** Where the value of a setting comes from, for the message if it is not allowed. */
const FLAGS: Partial<Record<SettingKey, string>> = {
  'embedder.baseUrl': '--base-url',
  'embedder.name': '--model',
  'embedder.dimensions': '--dimensions',
};

type UsableTrial = Extract<Trial, { isUsable: true }>;

/**
 * Sets an embedder up: chooses it, embeds two sentences with it, shows its settings, adds them to
 * `.env`, and embeds all memory. A setting that has another value already, wherever it is, stays: then
 * nothing is changed. Throws a `UsageError`, or an error that says why it cannot be used.
 */
export async function setUpEmbedder(context: CommandContext): Promise<void> {
  const loaded = await loadConfig(context);
  useProxies(loaded.proxies);
  const chosen = await chooseEmbedder(context, loaded);
  process.stderr.write('Testing the embedder: two sentences are embedded …\n');
  const { trial, proposal } = await tryProposal(loaded, chosen);
  const { embedder } = trial;
  writeLines([
    `Embedder:    ${embedder.name}, model ${embedder.model}`,
    ...describeTrial(trial),
    'Settings:',
    ...[...proposal].map(([key, value]) => `  ${settingOf(key).env}=${shown(key, value)}`),
  ]);
  const conflicts = findConflicts(loaded, proposal);
  if (conflicts.length > 0) {
    throw new StartError([...conflicts, 'Nothing was changed.'].join('\n'));
  }
  const missing = [...proposal].filter(([key]) => loaded.origins[key].source === 'default');
  if (context.flags.has('dry-run')) {
    return writeLines([
      'Nothing was changed. Without --dry-run, the settings that are missing are added to .env.',
    ]);
  }
  if (missing.length === 0) writeLines(['All of this is set already.']);
  else {
    const entries = missing.map(([key, value]) => [settingOf(key).env, value] as const);
    const file = await addToDotEnv(context.cwd, entries).catch((error: unknown) => {
      if (!(error instanceof ConfigError)) throw error;
      const message = `${error.message} Set the variables above in the environment.`;
      throw new StartError(message, { cause: error });
    });
    writeLines([`Added to ${file}, which only you can read (mode 0600).`]);
  }
  await embedMemory(await loadConfig(context), embedder.model);
}

/** Embeds two sentences, and completes the settings by what the answer and the model's family say. */
async function tryProposal(
  loaded: LoadedConfig,
  chosen: Proposal,
): Promise<{ trial: UsableTrial; proposal: Proposal }> {
  const proposal = new Map(chosen);
  const attempt = async () => {
    try {
      return await tryEmbedder(withSettings(loaded, proposal));
    } catch (error) {
      throw error instanceof ConfigError ? new StartError(error.message, { cause: error }) : error;
    }
  };
  let trial = await attempt();
  if (
    trial?.isUsable === false &&
    trial.vectorLength !== null &&
    !chosen.has('embedder.dimensions')
  ) {
    proposal.set('embedder.dimensions', String(trial.vectorLength));
    trial = await attempt();
  }
  if (trial?.isUsable !== true) {
    const { name = '', model = '' } = trial?.embedder ?? {};
    throw new StartError(
      `The embedder ${name}, model ${model}, can't be used: ${trial?.reason ?? 'it is missing'}. Nothing was changed.`,
    );
  }
  // Another version may have other defaults: vectors of two models are never compared.
  proposal.set('embedder.name', trial.embedder.model);
  proposal.set('embedder.dimensions', String(trial.embedder.dimensions));
  for (const [key, value] of trial.changes) {
    if (loaded.origins[key].source === 'default' && value !== '') proposal.set(key, value);
  }
  return { trial, proposal };
}

/** The configuration as it will be. Throws a `UsageError` for a value that is not allowed. */
function withSettings(loaded: LoadedConfig, proposal: Proposal): LoadedConfig {
  // A key and an address that are set for one embedder must not be used for another one.
  const values: Record<string, unknown> = {
    ...loaded.values,
    ...Object.fromEntries(OF_ONE_SERVER.map((key) => [key, null])),
  };
  for (const [key, value] of proposal) {
    try {
      values[key] = parseSetting(key, value, {
        source: 'flag',
        name: FLAGS[key] ?? settingOf(key).env,
      });
    } catch (error) {
      if (error instanceof ConfigError) throw new UsageError(error.message);
      throw error;
    }
  }
  return { ...loaded, values: values as LoadedConfig['values'] };
}

/** What sets the embedder otherwise already: a line each that says what wins and what to write there. */
function findConflicts({ origins, values, file }: LoadedConfig, proposal: Proposal): string[] {
  const conflicts: string[] = [];
  const isOfFile = [...proposal.keys()].some((key) => origins[key].source === 'file');
  if (file?.parts.embedder !== undefined || isOfFile) {
    const wanted = [...proposal].map(([key, value]) => [key, value] as const);
    if (file?.parts.embedder === undefined && wanted.every(([key, value]) => isSet(key, value))) {
      return [];
    }
    conflicts.push(
      `${file?.path ?? ''} sets embedder, and is never changed. .env would win over it, so nothing is added there. Write in ${file?.name ?? ''}:`,
      `  ${toMember(wanted, { isJson: file?.name.endsWith('.json') === true })},`,
    );
    return conflicts;
  }
  for (const [key, value] of proposal) {
    const { source, name } = origins[key];
    if (source === 'default' || isSet(key, value)) continue;
    const { env, isSecret } = settingOf(key);
    const difference =
      isSecret === true ? 'another one' : `${shown(key, values[key])}, not ${shown(key, value)}`;
    conflicts.push(
      source === '.env'
        ? `.env sets ${env} to ${difference}: change or remove that line.`
        : `${name} (${source}) is ${difference}, and wins over .env: change it there.`,
    );
  }
  for (const key of OF_ONE_SERVER) {
    const { source, name } = origins[key];
    if (source === 'default' || proposal.has(key)) continue;
    conflicts.push(`${name} (${source}) is set, and this embedder takes none: remove it there.`);
  }
  return conflicts;

  function isSet(key: SettingKey, value: string): boolean {
    return String(values[key]) === value;
  }
}

/** The embedder as a member of a config file, in the language of the file. */
function toMember(
  settings: readonly (readonly [SettingKey, string])[],
  { isJson }: { isJson: boolean },
): string {
  const toName = (name: string) => (isJson ? JSON.stringify(name) : name);
  const members = settings.map(([key, value]) => {
    const { isSecret, schema } = settingOf(key);
    const text = JSON.stringify(isSecret === true ? '…' : value);
    const isNumber = (schema as { type?: string }).type === 'integer';
    return `${toName(key.slice(key.indexOf('.') + 1))}: ${isNumber ? value : text}`;
  });
  return `${toName('embedder')}: { ${members.join(', ')} }`;
}

function shown(key: SettingKey, value: unknown): string {
  if (settingOf(key).isSecret === true) return '********';
  const text = String(value);
  return /\s/.test(text) ? `"${text}"` : text;
}

/** Embeds what there is of memory, here or in the server that has the database open. */
async function embedMemory(loaded: LoadedConfig, model: string): Promise<void> {
  const { isEmbedded, filename } = describeDatabase(loaded);
  if (isEmbedded && (filename === null || !existsSync(filename))) {
    return writeLines(['There is no memory yet: it is embedded as it is written.']);
  }
  const line = await workOnMemory<string>(loaded, {
    there: (server, address) => embedThere(server, { address, model }),
    async here(config) {
      const texts = await embedHere(loaded, config, { isAnew: false });
      const servers = isEmbedded ? '' : ' Restart the servers on this database.';
      return `All memory is embedded: ${texts} texts.${servers}`;
    },
  });
  writeLines([line]);
}

async function embedThere(
  server: RunningServer,
  { address, model }: { address: string; model: string },
): Promise<string> {
  const { embedder } = await server.ask<Pick<AdminStatus, 'embedder'>>('GET', 'status');
  if (embedder.name !== model || embedder.progress === null) {
    return `Restart the server at ${address}: it then embeds all memory in the background.`;
  }
  const texts = await awaitVectors(server, { address, before: embedder.progress });
  return `All memory is embedded by the server at ${address}: ${texts} more texts.`;
}

function writeLines(lines: readonly string[]): void {
  writeOutput(`${lines.join('\n')}\n`);
}
