import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { describeDatabase, type LoadedConfig, loadConfig, openConfig } from '../config/index.ts';
import { verifyMemory } from '../maintenance/verify.ts';
import { copyDatabase } from '../storage/copy-database.ts';
import type { SqlDatabase } from '../storage/sql-database.ts';
import type { Command, CommandContext } from './command.ts';
import { EXIT_FAILED, StartError } from './failure.ts';
import { createCommandLog } from './log.ts';
import { withStorage } from './open-memory.ts';
import { claimDatabase, findServer } from './owner.ts';
import { createProgress } from './running-server.ts';
import { writeOutput } from './streams.ts';

/** The variable that names the target, where its password should not stand in the list of processes. */
const TARGET_VARIABLE = 'MEMORY_COPY_TO';

/**
 * `memory-service copy --to <url>`: copies all rows into an empty database of any kind, then looks whether all is
 * there. A copy that was interrupted goes on when it is started again.
 */
export const copy: Command = {
  summary: 'Copy everything into an empty database of any kind.',
  flags: {
    to: { value: 'url', summary: `The empty database; or ${TARGET_VARIABLE} in the environment.` },
  },
  run,
};

async function run(context: CommandContext): Promise<void> {
  const to = context.flags.get('to') ?? context.env[TARGET_VARIABLE];
  if (to === undefined || to === '') {
    throw new StartError(
      `Say where to: --to=postgres://user@host/memory, or ${TARGET_VARIABLE} in the environment.`,
    );
  }
  const loaded = await loadConfig(context);
  const target = await loadConfig({
    ...context,
    argv: [
      ...context.argv.filter((flag) => !flag.startsWith('--database-url')),
      `--database-url=${to}`,
    ],
  });
  const [from, into] = [describeDatabase(loaded), describeDatabase(target)];
  if (from.filename !== null && from.filename === into.filename) {
    throw new StartError(`${into.filename} is the database itself.`);
  }
  for (const database of [from, into]) {
    const address = await findServer(database);
    if (address !== null) {
      throw new StartError(
        `A server at ${address} has ${database.filename} open: stop it first, so that nothing is written meanwhile.`,
      );
    }
  }
  process.umask(0o077);
  if (into.filename !== null) await mkdir(dirname(into.filename), { recursive: true, mode: 0o700 });
  const progress = createProgress('rows');
  const claims = [await claimDatabase(from)];
  try {
    claims.push(await claimDatabase(into));
    const { tables, rows } = await copyDatabase(await openSql(loaded), await openSql(target), {
      log: createCommandLog(loaded.values.logLevel),
      progress: (done) => progress(done, null),
    });
    writeOutput(`Copied ${rows} rows of ${tables} tables.\n`);
    await check(target);
  } finally {
    for (const claim of claims) await claim.release();
  }
}

async function openSql(loaded: LoadedConfig): Promise<SqlDatabase> {
  const { storage } = (await openConfig(loaded)).service;
  if ('transact' in storage) return storage;
  throw new StartError('copy needs a database: the configuration has a storage of another kind.');
}

/** Looks at the copy as `verify` does. */
async function check(target: LoadedConfig): Promise<void> {
  const { service } = await openConfig(target);
  const { findings, found, files, revisions } = await withStorage(target, service, (storage) =>
    verifyMemory(storage, { progress: createProgress('files') }),
  );
  if (found === 0) {
    writeOutput(
      `Nothing is wrong with the copy: ${files} files, ${revisions} revisions. Start the service with it as SERVICE_DATABASE_URL.\n`,
    );
    return;
  }
  const lines = findings.map(
    ({ invariant, path, message }) => `${invariant}: ${path ?? ''} ${message}`,
  );
  writeOutput(
    `${lines.join('\n')}\n${found} findings: run verify on the source, which may have them, too.\n`,
  );
  process.exitCode = EXIT_FAILED;
}
