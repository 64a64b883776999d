import { type Bench, CALLERS, type Entrant, type Opened, type Suite } from './support/bench.ts';
import { listPlaces, type NoteSet } from './support/notes.ts';
import {
  ADMIN_SECRET,
  fillRequest,
  readFilesBehind,
  readRequest,
  startService,
} from './support/service.ts';

const SPACES = 3;
/** The most entries in the `users` of a key. */
const LISTED_USERS = 100;
const POLL_MS = 250;

/** What spaces add to a find, and named keys to a call: pairs in one run, on the same service. */
export const suite: Suite = {
  about: 'find with three spaces beside one and none, and a named key beside the service key',
  isAlone: true,
  async run(bench) {
    await compareFinds(bench);
    await compareKeys(bench);
  },
};

/** The same service under another name, so that several of its operations stand in one row. */
const named = (name: string, entrant: Entrant): Entrant => ({ ...entrant, name });

async function compareFinds(bench: Bench): Promise<void> {
  const set: NoteSet = bench.isQuick ? { users: 2, notes: 50 } : { users: 10, notes: 1_000 };
  bench.report.note(
    `${set.users} users and ${SPACES} spaces with ${set.notes} notes each; SQLite, in process.`,
  );
  const options = { set, spaces: SPACES };
  const opened = await bench.open('memory-service', 'contestants/service.ts', options);
  for (const callers of [1, CALLERS]) {
    const find = (name: string, operation: string) =>
      named(name, bench.called('service', opened, operation, callers));
    await bench.compare({
      title: `Find, ${callers} caller${callers === 1 ? '' : 's'}`,
      entrants: [
        find('no space', 'search'),
        find('one space', 'search1'),
        find('three spaces', `search${SPACES}`),
      ],
      // A rate to a rate: how many times as long the find with three spaces takes.
      ratios: [
        { of: 'one space', to: 'three spaces', figure: 'find-in-spaces' },
        { of: 'no space', to: 'three spaces', figure: 'find-beside-spaces' },
      ],
    });
  }
}

async function compareKeys(bench: Bench): Promise<void> {
  const set: NoteSet = bench.isQuick ? { users: 10, notes: 20 } : { users: 100, notes: 100 };
  const service = await startService(bench, 'memory-service', await bench.makeDirectory('keys'));
  await bench.fill(service, fillRequest(set));
  while ((await readFilesBehind(service)) > 0) await new Promise((end) => setTimeout(end, POLL_MS));
  const request = readRequest(set);
  const userIds = new Set(listPlaces(set).map(({ userId }) => userId));
  const keys: [name: string, settings: object][] = [
    ['a named key', { name: 'plain' }],
    [
      'a named key with limits',
      {
        name: 'limited',
        users: [...userIds].slice(0, LISTED_USERS),
        spaces: ['acme:read'],
        tools: ['read'],
      },
    ],
  ];
  const withKeys: Entrant[] = [];
  for (const [name, settings] of keys) {
    const headers = { Authorization: `Bearer ${await makeKey(service, settings)}` };
    withKeys.push(named(name, bench.asked('service', service, { ...request, headers })));
  }
  await bench.compare({
    title: `Read over HTTP, ${CALLERS} callers`,
    entrants: [named('the service key', bench.asked('service', service, request)), ...withKeys],
    ratios: [
      { of: 'a named key', to: 'the service key', figure: 'read-named-key' },
      { of: 'a named key with limits', to: 'the service key' },
    ],
  });
}

/** Makes a named key, and returns its text. */
async function makeKey({ party }: Opened, settings: object): Promise<string> {
  const port = party?.port ?? null;
  if (party === null || port === null) return '';
  return await party.use(async () => {
    const answer = await fetch(`http://127.0.0.1:${port}/v1/admin/keys`, {
      method: 'POST',
      headers: { 'x-admin-secret': ADMIN_SECRET, 'Content-Type': 'application/json' },
      body: JSON.stringify(settings),
    });
    if (answer.status !== 201) throw new Error(`The key was not made: ${answer.status}.`);
    return ((await answer.json()) as { key: string }).key;
  });
}
