import { copyFile, mkdtemp, open, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { type Core, createCore } from '../../core/service.ts';
import { MemoryError } from '../../core/errors.ts';
import { call, temporaryDirectory } from '../support/service.ts';
import { sqlite } from '../support/databases.ts';

/** Copies of the database, each damaged in other places. */
const ROUNDS = process.env['MEMORY_TEST_RELEASE'] === undefined ? 4 : 400;
/** Most of a small database is empty, or not read: fewer are often not noticed. */
const PLACES = 8;
/** What looks damaged is read again for up to three seconds, and a round may meet much of it. */
const LONG = { timeout: 120_000 + ROUNDS * 20_000 };
const USERS = ['alice', 'bob', 'carol'];
const FILES = 10;

let directory: string;
let healthy: string;
/** What was written last, and what every version held, by user and path. */
const written = new Map<string, string[]>();

beforeAll(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'memory-damage-'));
  healthy = path.join(directory, 'healthy.db');
  const core = createCore({ storage: sqlite({ filename: healthy }) });
  for (const user of USERS) {
    for (let file = 0; file < FILES; file += 1) {
      const versions: string[] = [];
      for (let version = 0; version < 3; version += 1) {
        const lines = Array.from({ length: 60 }, (_, line) =>
          line % 7 === 0
            ? `- Line ${line} of note ${file} of ${user} at version ${version}.`
            : `- Line ${line} of note ${file} of ${user} says heron.`,
        );
        const content = `# Note ${file}\n\n${lines.join('\n')}\n`;
        await call(core, user, 'memory_write', { path: `user/note-${file}.md`, content });
        versions.push(content);
      }
      written.set(`${user}/note-${file}.md`, versions);
    }
  }
  await core.indexer.drain();
  await core.close();
  return () => rm(directory, { recursive: true });
});

it('in any page of the file: no read answers another content than was written', LONG, async () => {
  const random = createRandom(17);
  const counts = { reads: 0, right: 0, wrong: 0, damaged: 0, absent: 0, failed: 0, unopened: 0 };
  for (let round = 0; round < ROUNDS; round += 1) {
    const filename = path.join(await temporaryDirectory(), 'memory.db');
    await copyFile(healthy, filename);
    await damage(filename, random);
    const core = createCore({ storage: sqlite({ filename }) });
    try {
      await core.ready();
    } catch (error) {
      counts.unopened += 1;
      expect(error).toMatchObject({ retryable: false });
      await core.close().catch(() => undefined);
      continue;
    }
    const read = async (work: () => Promise<boolean>) => {
      counts.reads += 1;
      try {
        counts[(await work()) ? 'right' : 'wrong'] += 1;
      } catch (error) {
        if (!(error instanceof MemoryError)) throw error;
        expect([error.code, error.retryable]).toEqual([error.code, false]);
        if (error.code === 'STORAGE_DAMAGED') counts.damaged += 1;
        else if (error.status === 404) counts.absent += 1;
        else counts.failed += 1;
      }
    };
    const damagedBefore = counts.damaged;
    for (const [name, versions] of written) await readFile(core, name, versions, read);
    // Whoever met damage is not ready from then on.
    if (counts.damaged > damagedBefore) {
      await expect(core.storage.ping()).rejects.toMatchObject({ code: 'STORAGE_DAMAGED' });
    }
    await core.close().catch(() => undefined);
  }
  console.log(`damaged in ${ROUNDS} copies: ${JSON.stringify(counts)}`);
  expect(counts.wrong).toBe(0);
  // Some is noticed before anything is read.
  expect(counts.damaged + counts.unopened).toBeGreaterThan(0);
  // Damage in a page that most reads need spoils a whole copy: of four copies it may be two.
  expect(counts.right).toBeGreaterThan(counts.reads / 8);
});

/** All the ways in which a content leaves the service. */
async function readFile(
  core: Core,
  name: string,
  versions: readonly string[],
  read: (work: () => Promise<boolean>) => Promise<void>,
): Promise<void> {
  const [user = '', file = ''] = name.split('/');
  const latest = versions.at(-1) ?? '';
  await read(async () => {
    const { result } = await call(core, user, 'memory_read', { path: `user/${file}` });
    return result['content'] === latest;
  });
  await read(async () => {
    const { result } = await call<{ results: { path: string; snippet: string }[] }>(
      core,
      user,
      'memory_find',
      { query: `heron ${file}`, limit: 3 },
    );
    return result.results.every((hit) => {
      const whole = written.get(`${user}/${hit.path.slice('user/'.length)}`)?.at(-1) ?? '';
      return hit.snippet
        .split('\n')
        .map((line) => line.replace(/^…|…$/g, '').trim())
        .every((line) => whole.includes(line));
    });
  });
  await read(async () => {
    const { file: shown } = await core.fileLists.file(`users/${user}/${file}`, {});
    return shown.content === latest;
  });
  await read(async () => {
    const shown = await core.fileLists.file(`users/${user}/${file}`, { blame: true });
    const lines = latest.split('\n');
    return (shown.blame ?? []).every(({ startLine, endLine, version }) =>
      lines
        .slice(startLine - 1, endLine)
        // Only the lines that name their version were changed since the first one.
        .every((line) => version === null || version === (line.includes('at version') ? 3 : 1)),
    );
  });
  await read(async () => {
    const { items } = await core.revisions.list({ path: `users/${user}/${file}`, limit: 10 });
    const details = await Promise.all(items.map(({ id }) => core.revisions.get(id)));
    return details.every(({ contentAfter, contentBefore }) =>
      [contentAfter, contentBefore].every((text) => text === null || versions.includes(text)),
    );
  });
  await read(async () => {
    const patch = { path: `user/${file}`, append: { text: 'one more' } };
    await call(core, user, 'memory_patch', patch);
    const { result } = await call(core, user, 'memory_read', { path: `user/${file}` });
    return String(result['content']).startsWith(latest);
  });
}

/** Writes a few bytes into some pages, but not into the header of the file. */
async function damage(filename: string, random: (below: number) => number): Promise<void> {
  const { size } = await stat(filename);
  const file = await open(filename, 'r+');
  for (let place = 0; place < PLACES; place += 1) {
    const length = 1 + random(16);
    const bytes = Buffer.from(Array.from({ length }, () => random(256)));
    await file.write(bytes, 0, length, 100 + random(size - 100 - length));
  }
  await file.close();
}

function createRandom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}
