import assert from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { inspect } from 'node:util';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { Storage } from '../../../core/contracts/storage.ts';
import { MemoryError } from '../../../core/errors.ts';
import {
  checkStorage,
  countResults,
  formatResults,
  runStorageCase,
  type StorageCase,
  storageCases,
} from '../../../core/testing/index.ts';
import { dreamCases } from '../../../core/testing/storage/dreams.ts';
import { observationCases } from '../../../core/testing/storage/observations.ts';
import { vectorCases } from '../../../core/testing/storage/vectors.ts';
import { sqlite } from '../../../plugins/storage-sqlite/index.ts';
import { temporaryDatabases } from '../../support/service.ts';
import { unhandledErrors } from './unhandled-errors.ts';
import {
  emptyStorage,
  mapMethods,
  methodNames,
  storageThat,
  uselessStorages,
} from './useless-storages.ts';

describe('a driver that does nothing', () => {
  it.each(uselessStorages)('and $what passes no rule', async ({ make }) => {
    const unhandled = unhandledErrors();
    const results = await checkStorage(make);
    const names = results.filter(({ status }) => status !== 'failed').map(({ name }) => name);
    expect(names).toEqual([]);
    expect(results).toHaveLength(storageCases.length);
    expect(unhandled).toEqual([]);
  });

  it.each(uselessStorages.slice(0, 3))(
    'and $what, without optional stores, passes no rule',
    async ({ make }) => {
      const results = await checkStorage(() => {
        const { observations: _, dreams: __, vectors: ___, holds: ____, ...storage } = make();
        return storage;
      });
      const absent = results.flatMap((result) =>
        result.status === 'absent' ? [[result.name, result.store]] : [],
      );
      expect(absent).toEqual([
        [
          'keeps the hold of a scope from the transaction that sets it to the one that removes it',
          'holds',
        ],
        ...observationCases().map(({ name }) => [name, 'observations']),
        ...dreamCases().map(({ name }) => [name, 'dreams']),
        ...vectorCases().map(({ name }) => [name, 'vectors']),
      ]);
      expect(countResults(results)).toEqual({
        passed: 0,
        failed: storageCases.length - absent.length,
        absent: absent.length,
      });
    },
  );
});

/** Calls one method and nothing else. */
const callGet: StorageCase = {
  name: 'calls files.get',
  async run(open) {
    const storage = await open();
    await storage.files.get({ scope: 'u:alice', path: 'notes.md' });
    return undefined;
  },
};

const endless = () => new Promise<never>(() => undefined);
const like = (changes: object) => () => ({ ...emptyStorage(), ...changes }) as unknown as Storage;

/** What an author may hand over, and the reason that every rule fails with. */
const WRONG: [string, () => Storage, RegExp][] = [
  ['null', () => null as never, /^There is no storage: null\.$/],
  ['undefined', () => undefined as never, /^There is no storage: undefined\.$/],
  ['a text', () => 'sqlite' as never, /^There is no storage: 'sqlite'\.$/],
  ['an empty object', () => ({}) as never, /^init is missing\.$/],
  [
    'an error when it is made',
    () => {
      throw new RangeError('No disk.');
    },
    /^No disk\.$/,
  ],
  [
    'null thrown when it is made',
    () => {
      // eslint-disable-next-line @typescript-eslint/only-throw-error -- a driver may throw anything
      throw null;
    },
    /^Thrown: null$/,
  ],
  [
    'an object without a prototype thrown',
    () => {
      throw Object.create(null);
    },
    /^Thrown: \[Object: null/,
  ],
  [
    'an init that returns nothing',
    like({ init: () => undefined }),
    /^init\(\) returned undefined instead of a promise\.$/,
  ],
  [
    'an init that throws',
    like({
      init() {
        throw new Error('No.');
      },
    }),
    /^init\(\) threw instead of rejecting: No\.$/,
  ],
  [
    'an init that rejects with nothing',
    like({ init: () => Promise.reject() }),
    /^Thrown: undefined$/,
  ],
  [
    'a getter that throws',
    () =>
      ({
        get init() {
          throw new Error('Not yet.');
        },
      }) as never,
    /^Not yet\.$/,
  ],
];

it.each(WRONG)('tells of %s in place of a storage', async (_what, make, reason) => {
  const unhandled = unhandledErrors();
  const results = await checkStorage(make);
  expect(results).toHaveLength(storageCases.length);
  for (const { status, error } of results) {
    expect(status).toBe('failed');
    expect(error?.message).toMatch(reason);
  }
  expect(unhandled).toEqual([]);
});

/** Wrong ways to answer a call, and the reason of a rule that makes the call. */
const WRONG_ANSWERS: [string, () => unknown, RegExp][] = [
  ['no promise', () => undefined, /^files\.get\(\) returned undefined instead of a promise\.$/],
  ['a plain value', () => 5, /^files\.get\(\) returned 5 instead of a promise\.$/],
  [
    'a thrown error',
    () => {
      throw new MemoryError('INVALID_PATH');
    },
    /^files\.get\(\) threw instead of rejecting: /,
  ],
  ['no answer', endless, /^It did not end within 20 ms\. Without an answer: files\.get\.$/],
  ['a rejection without a reason', () => Promise.reject(), /^Thrown: undefined$/],
];

describe.each(WRONG_ANSWERS)('a driver that gives %s', (_what, answer, reason) => {
  it('fails with that as the reason', async () => {
    const [result] = await checkStorage(() => storageThat(answer), {
      cases: [callGet],
      timeLimitMs: 20,
    });
    expect(result?.status).toBe('failed');
    expect(result?.error?.message).toMatch(reason);
  });

  it('passes no rule, and ends no process', async () => {
    const unhandled = unhandledErrors();
    const results = await checkStorage(() => storageThat(answer), { timeLimitMs: 20 });
    expect(countResults(results)).toEqual({ passed: 0, failed: storageCases.length, absent: 0 });
    expect(unhandled).toEqual([]);
  });
});

it.each(['make', 'init', 'close'])('fails every rule when %s does not settle', async (method) => {
  const make = method === 'make' ? endless : like({ [method]: endless });
  const results = await checkStorage(make, { timeLimitMs: 20, cases: storageCases.slice(0, 9) });
  expect(results).toHaveLength(9);
  for (const { error } of results) expect(error).toBeInstanceOf(Error);
});

it('names a missing store and a missing method', async () => {
  const reasonWith = async (changes: object) => {
    const [result] = await checkStorage(like(changes), { cases: [callGet] });
    return result?.error?.message;
  };
  expect(await reasonWith({ files: undefined })).toBe('files is missing.');
  expect(await reasonWith({ files: null })).toBe('files is null.');
  expect(await reasonWith({ files: {} })).toBe('files.get is missing.');
});

it('fails the rules of an optional store that is null, as its absence is undefined', async () => {
  const results = await checkStorage(like({ vectors: null, dreams: false }), {
    cases: [...vectorCases(), ...dreamCases()],
  });
  for (const { status, error } of results) {
    expect(status).toBe('failed');
    expect(error?.message).toMatch(/is (?:null|false): leave out what is absent\.$/);
  }
});

it('takes a driver whose objects are frozen, with private members', async () => {
  class Frozen {
    readonly #get = Promise.resolve(null);
    readonly files = Object.freeze({ get: () => this.#get });
    readonly name = 'frozen';
    init() {
      return this.#get;
    }
    close() {
      return this.#get;
    }
  }
  const make = () => Object.freeze(new Frozen()) as unknown as Storage;
  expect(await checkStorage(make, { cases: [callGet] })).toEqual([
    { name: callGet.name, status: 'passed', error: null },
  ]);
});

describe('an error in the background', () => {
  const errors: [string, () => void][] = [
    ['a rejection', () => void Promise.reject(new RangeError('lost'))],
    [
      'a throw',
      () =>
        void setImmediate(() => {
          throw new RangeError('lost');
        }),
    ],
  ];
  it.each(errors)('fails the rule: %s', async (_what, leave) => {
    const unhandled = unhandledErrors();
    const make = () =>
      mapMethods(emptyStorage(), (method, name) => async (...args: unknown[]) => {
        if (name === 'files.get') {
          leave();
          // Until the throw has happened.
          await vi.waitUntil(() => unhandled.length > 0);
        }
        return await method(...args);
      });
    const [result] = await checkStorage(make, { cases: [callGet] });
    expect(result?.status).toBe('failed');
    expect(result?.error?.message).toBe(
      'In the background, awaited by nobody, this was thrown: RangeError: lost',
    );
    expect(unhandled).toHaveLength(1);
  });

  it('of a call that is not awaited fails nothing by itself', async () => {
    const unhandled = unhandledErrors();
    const refusing = storageThat(() => Promise.reject(new MemoryError('INTERNAL')));
    const twice: StorageCase = {
      name: 'calls without waiting',
      async run(open) {
        const { files } = await open();
        void files.get({ scope: 's', path: 'a' });
        return undefined;
      },
    };
    const [result] = await checkStorage(() => refusing, { cases: [twice] });
    expect(result?.status).toBe('passed');
    expect(unhandled).toEqual([]);
  });
});

it('resolves for a test runner with the store that is absent', async () => {
  const [vectorCase] = vectorCases();
  const make = like({ vectors: undefined });
  if (vectorCase === undefined) throw new Error('There is a rule about vectors.');
  expect(await runStorageCase(vectorCase, make)).toBe('vectors');
  await expect(runStorageCase(vectorCase, emptyStorage)).rejects.toThrow();
});

it('reports each failed rule with its reason, absent stores, and counts', async () => {
  const failing = (name: string, run: () => unknown): StorageCase => ({
    name,
    async run(open) {
      await open();
      run();
      return undefined;
    },
  });
  const cause = new RangeError('disk I/O error');
  const results = await checkStorage(like({ dreams: undefined }), {
    cases: [
      callGet,
      failing('says what is wrong', () => assert.fail('The list does not end.')),
      failing('is refused', () => {
        throw new MemoryError('STORAGE_FULL', 'The disk is full.', { cause });
      }),
      failing('gets another shape', () => {
        throw new TypeError('items is not iterable');
      }),
      ...dreamCases(),
    ],
  });
  expect(formatResults(results)).toBe(
    [
      'failed: says what is wrong',
      '  The list does not end.',
      'failed: is refused',
      '  STORAGE_FULL: The disk is full.',
      '  cause: disk I/O error',
      'failed: gets another shape',
      '  TypeError: items is not iterable',
      `absent: dreams (${dreamCases().length} rules)`,
      `1 passed, 3 failed, ${dreamCases().length} absent of ${4 + dreamCases().length} rules`,
    ].join('\n'),
  );
});

/** For each method of the contract a rule that a driver breaks whose method does nothing. */
const RULE_OF: Readonly<Record<string, string>> = {
  init: 'gives null for a file that was never written',
  close: 'refuses everything once it is closed',
  ping: 'refuses everything once it is closed',
  describe: 'describes itself and its contract, without secrets or paths',
  mutate: 'loses none of 100 concurrent appends to one file',
  'files.read': 'reads files that exist, and those alone, many at once',
  'files.get': 'gives back what was written, to the last field',
  'files.list': 'gives back what was written, to the last field',
  'files.listAll':
    'lists all files by each sort and filter, page by page, as a plain search finds them',
  'files.getListing': 'gives back what was written, to the last field',
  'files.listFolder': 'rolls folders up as a plain count does, forwards and backwards',
  'files.listUsers': 'lists the users that have files',
  'files.countBehind': 'counts scopes exactly under concurrent writes',
  'revisions.get': 'gives a revision back, to the last field',
  'revisions.list': 'lists revisions by every filter, page by page, as a plain search finds them',
  'revisions.chain': 'leads back from the head to each version, by the least rows',
  'revisions.steps': 'gives the steps back of a range of versions',
  'revisions.ofVersion': 'finds the revision that made a version',
  'revisions.at': 'finds the newest revision at or before a time',
  'revisions.listAt': 'lists what the files of a scope were at a time, by path, deleted ones too',
  'revisions.prune':
    'prunes the oldest rows alone, those that meet both conditions, and counts them',
  'log.append': 'counts the reads of files once, and only reads',
  'log.listAccess': 'lists access rows by every filter, page by page, as a plain search finds them',
  'log.eventsOfTrace': 'gives events back by trace and by tool call',
  'log.eventOfToolCall': 'gives events back by trace and by tool call',
  'log.expire': 'removes the oldest log rows from before a time, so many at once',
  'log.countOlder': 'removes the oldest log rows from before a time, so many at once',
  'observations.rollups': 'adds up roll-ups in the transaction of their events, once',
  'observations.countRollups': 'adds up roll-ups in the transaction of their events, once',
  'observations.expireRollups': 'adds up roll-ups in the transaction of their events, once',
  'observations.countScopes': 'gives calls in short, and counts the users that made them',
  'observations.calls': 'gives calls in short, and counts the users that made them',
  'observations.listEvents': 'lists events by every filter, and by the time of their ids',
  'observations.countAccesses': 'counts accesses that went well by path, actor, tool and action',
  'observations.filesWrittenBy': 'names the files whose present content a tool wrote',
  'audit.list': 'lists the audit by its filters',
  'config.entries': 'keeps settings as JSON, all of a call or none',
  'config.set': 'keeps settings as JSON, all of a call or none',
  'config.setIfAbsent': 'gives the first value of a key to all who set it at once',
  'leases.claim': 'gives a lease to one holder at a time, with a fence that only grows',
  'leases.renew': 'gives a lease to one holder at a time, with a fence that only grows',
  'leases.release': 'gives a lease to one holder at a time, with a fence that only grows',
  'holds.list':
    'keeps the hold of a scope from the transaction that sets it to the one that removes it',
  'erasure.redact': 'replaces redacted rows in one transaction, or none when it is refused',
  'erasure.erasedAt': 'erases all rows of a user, in batches under a hold, and none of another',
  'erasure.count': 'erases all rows of a user, in batches under a hold, and none of another',
  'erasure.begin': 'erases all rows of a user, in batches under a hold, and none of another',
  'erasure.erase': 'erases all rows of a user, in batches under a hold, and none of another',
  'erasure.end': 'erases all rows of a user, in batches under a hold, and none of another',
  'erasure.changeAudit': 'changes rows of the audit, page by page',
  'index.snapshot':
    'opens scopes in the order asked for, with their stale files and the blobs of keys',
  'index.listStale': 'tells which files are stale, until their version is indexed',
  'index.update': 'tells which files are stale, until their version is indexed',
  'index.drop': 'drops one scope’s index, and marks its files that exist',
  'index.listScopes': 'lists the scopes that have files, with the format of their index',
  'vectors.useModel':
    'knows an embedding model by provider, name and length, each change as another epoch',
  'vectors.markUnlisted':
    'marks indexed files without a list of their version as stale, page by page',
  'vectors.enqueue':
    'queues each text of a scope once that has no vector, and says whose lists it read',
  'vectors.claim':
    'queues each text of a scope once that has no vector, and says whose lists it read',
  'vectors.complete':
    'queues each text of a scope once that has no vector, and says whose lists it read',
  'vectors.postpone':
    'gives postponed texts out when they are due, and counts those that were refused',
  'vectors.sweep': 'sweeps the vectors of texts that no file of the scope has, in that scope alone',
  'vectors.countWaiting':
    'queues each text of a scope once that has no vector, and says whose lists it read',
  'vectors.dropAll': 'drops the vectors of all models, and queues each text again',
  'dreams.user': 'finds users whose writes are newer than their watermark',
  'dreams.changedUsers': 'finds users whose writes are newer than their watermark',
  'dreams.listUsers': 'finds users whose writes are newer than their watermark',
  'dreams.run': 'keeps what dreaming knows of a user and of a run, each field',
  'dreams.listRuns': 'lists runs by user, by state, and those that have not ended',
  'dreams.update': 'keeps what dreaming knows of a user and of a run, each field',
  'dreams.expire': 'removes runs that ended before a time, the oldest first, and none that has not',
  'dreams.countOlder':
    'removes runs that ended before a time, the oldest first, and none that has not',
  'dreams.countWaiting': 'finds and counts operations that wait, and keeps their runs',
};
/** The suite has no rule about these. */
const UNCHECKED = [
  'inspection',
  'backUp',
  'planMigration',
  'examine',
  'noteDamage',
  'liftDamage',
  'doubtMs',
];

it('has a rule for each method of the contract', () => {
  const checked = methodNames.filter((name) => !UNCHECKED.includes(name.split('.')[0] ?? ''));
  expect(Object.keys(RULE_OF)).toEqual(checked);
});

it.each(Object.entries(RULE_OF))(
  'a good driver whose %s does nothing fails: %s',
  async (name, rule) => {
    const fileOf = await temporaryDatabases();
    const opened: Storage[] = [];
    onTestFinished(async () => {
      await Promise.all(opened.map((storage) => storage.close()));
    });
    const empty = new Map<string, unknown>();
    mapMethods(emptyStorage(), (method, of) => empty.set(of, method));
    const make = (place: string) => {
      const good = sqlite({ filename: fileOf(place), synchronous: 'normal' });
      opened.push(good);
      return mapMethods(good, (method, of) => (of === name ? empty.get(of) : method));
    };
    const cases = storageCases.filter((each) => each.name === rule);
    const results = await checkStorage(make, { cases });
    expect(results.map(({ status }) => status)).toEqual(['failed']);
  },
);

/** Values that a driver may throw, although no rule can make sense of them. */
const STRANGE: Record<string, () => unknown> = {
  'an error whose message is a number': () => Object.assign(new Error(), { message: 5 }),
  'an error whose message is an object': () =>
    Object.assign(new MemoryError('INTERNAL'), { message: Object.create(null) as unknown }),
  'an error whose message throws': () =>
    Object.defineProperty(new Error(), 'message', { get: fail }),
  'an error whose code is a symbol': () =>
    Object.assign(new MemoryError('INTERNAL'), { code: Symbol('code') }),
  'an error whose cause throws': () =>
    Object.defineProperty(new MemoryError('INTERNAL'), 'cause', { get: fail }),
  'a proxy whose traps throw': () =>
    new Proxy({}, { get: fail, getPrototypeOf: fail, ownKeys: fail, has: fail }),
  'an object that refuses to be shown': () => ({ [inspect.custom]: fail }),
  nothing: () => undefined,
};

function fail(): never {
  throw new Error('Do not look.');
}

describe.each(Object.entries(STRANGE))('a driver that throws %s', (_, makeStrange) => {
  it.each<[string, () => Storage]>([
    [
      'when it is made',
      () => {
        throw makeStrange();
      },
    ],
    ['when it is opened', () => ({ ...emptyStorage(), init: () => Promise.reject(makeStrange()) })],
    [
      'instead of rejecting',
      () => ({
        ...emptyStorage(),
        init() {
          throw makeStrange();
        },
      }),
    ],
    [
      'in the background',
      () => ({
        ...emptyStorage(),
        async init() {
          void Promise.reject(makeStrange());
          await nextTurn();
        },
      }),
    ],
  ])('fails a rule %s, and has a report', async (__, make) => {
    const [first] = storageCases;
    if (first === undefined) throw new Error('There is no case.');
    const results = await checkStorage(make, { cases: [first] });
    expect(results).toMatchObject([{ status: 'failed', error: expect.any(Error) as unknown }]);
    expect(formatResults(results)).toMatch(
      /^failed: [^]*\n0 passed, 1 failed, 0 absent of 1 rules$/,
    );
  });
});
