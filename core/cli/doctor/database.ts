import { existsSync } from 'node:fs';
import type { Database, LoadedConfig } from '../../config/index.ts';
import { openStorage } from '../../config/index.ts';
import type { Storage, StorageExamination } from '../../contracts/storage.ts';
import { toStorage } from '../../storage/storage.ts';
import { findServer } from '../owner.ts';
import { type Finding, ok, problem, toProblem, warning } from './finding.ts';

/** What the database says, and what it says of its clock. */
export interface DatabaseFindings {
  database: Finding;
  clock: Finding;
}

/** A difference of two clocks that is worth a word, in milliseconds. */
const CLOCK_DIFFERENCE_MS = 5_000;

/** Opens the database as far as reading needs it, and compares its clock. It writes nothing. */
export async function checkDatabase(
  loaded: LoadedConfig,
  described: Database,
): Promise<DatabaseFindings> {
  let found: { storage: Storage; examined: StorageExamination | null };
  const askedAt = Date.now();
  try {
    const storage = toStorage((await openStorage(loaded)).storage);
    found = { storage, examined: await storage.examine() };
  } catch (error) {
    const clock = warning('not compared: the database does not answer');
    return { database: toProblem(error), clock };
  }
  const { storage, examined } = found;
  return {
    database: await describe(storage, { examined, described }).catch(toProblem),
    clock: compareClocks(examined, (askedAt + Date.now()) / 2),
  };
}

async function describe(
  storage: Storage,
  { examined, described }: { examined: StorageExamination | null; described: Database },
): Promise<Finding> {
  const { filename } = described;
  const name = `${storage.name}${examined === null ? '' : ` ${examined.version}`}`;
  if (filename !== null && !existsSync(filename)) {
    return warning(
      `${storage.name}, no file at ${filename}`,
      'The first start makes it. If there should be one, run the command where the service runs, or name the file with SERVICE_DATABASE_URL.',
    );
  }
  const plan = await storage.planMigration();
  const server = await findServer(described).catch(() => null);
  const where = [
    ...(filename === null ? [] : [filename]),
    ...(server === null ? [] : [`open in the server at ${server}`]),
  ].map((part) => `, ${part}`);
  const text = `${name}, schema ${plan.from}${where.join('')}`;
  if (plan.steps.length === 0) return ok(text);
  if (plan.from === 0)
    return ok(`${name}, empty${where.join('')}: the first start makes the tables`);
  return warning(
    text,
    `The next start brings it to schema ${plan.to}. Make a backup first; memory-service migrate --dry-run lists the steps.`,
  );
}

function compareClocks(examined: StorageExamination | null, now: number): Finding {
  if (examined === null) return ok('there is no database yet');
  const differenceMs = examined.now - now;
  const seconds = Math.round(Math.abs(differenceMs) / 1_000);
  if (Math.abs(differenceMs) <= CLOCK_DIFFERENCE_MS) {
    return ok('the database has the same time as this machine');
  }
  if (!Number.isFinite(differenceMs)) return problem('the database tells no time');
  return warning(
    `the clock of the database is ${seconds} s ${differenceMs > 0 ? 'ahead of' : 'behind'} that of this machine`,
    'Set both by NTP: times of revisions, and what they are sorted by, come from this machine.',
  );
}
