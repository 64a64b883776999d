import { setTimeout as sleep } from 'node:timers/promises';
import type { Suite } from './support/bench.ts';
import { type NoteSet, pickQuery, placeAt } from './support/notes.ts';
import { ADMIN_SECRET, fillRequest, readFilesBehind, startService } from './support/service.ts';
import { toSpread } from './support/statistics.ts';

const WHOLE: NoteSet = { users: 1_000, notes: 50 };
const QUICK: NoteSet = { users: 20, notes: 5 };
const CHECKS = 200;
const POLL_MS = 250;

/** How long 200 checks of all kinds take on the memory of 1,000 users, and how long they hold others up. */
export const suite: Suite = {
  about: '200 checks on 1,000 users with 50 files each: how long, and the longest stall',
  isAlone: true,
  async run(bench) {
    const set = bench.isQuick ? QUICK : WHOLE;
    const directory = await bench.makeDirectory('checks');
    const service = await startService(bench, 'memory-service', directory, {
      SERVICE_LOG_LEVEL: 'error',
    });
    const port = service.party?.port ?? null;
    if (service.party === null || port === null) return;
    await bench.fill(service, fillRequest(set));
    while ((await readFilesBehind(service)) > 0) await sleep(POLL_MS);
    const checks = listChecks(set);
    let tookMs = 0;
    let counts = { passed: 0, failed: 0 };
    const stall = await service.party.watchStalls(async () => {
      const begin = performance.now();
      const answer = await fetch(`http://127.0.0.1:${port}/v1/admin/checks/run`, {
        method: 'POST',
        headers: { 'x-admin-secret': ADMIN_SECRET, 'content-type': 'application/json' },
        body: JSON.stringify({ checks }),
      });
      if (!answer.ok) throw new Error(`${answer.status}: ${await answer.text()}`);
      counts = (await answer.json()) as typeof counts;
      tookMs = performance.now() - begin;
    });
    bench.report.row(`${checks.length} checks on ${set.users} users × ${set.notes} files`, []);
    bench.report.note(
      `${(tookMs / 1_000).toFixed(1)} s, ${counts.passed} passed, ${counts.failed} failed; longest stall` +
        ` ${stall.cpuMs.toFixed(1)} ms on the processor, ${stall.wallMs.toFixed(1)} ms by the clock`,
    );
    bench.report.figure('checks-time', toSpread([tookMs / 1_000]));
    bench.report.figure('checks-stall', toSpread([stall.cpuMs]));
  },
};

/** A quarter of them look at all memory, a quarter at each user, half at one user. */
function listChecks(set: NoteSet): object[] {
  return Array.from({ length: CHECKS }, (_, at) => {
    const name = `check ${at}`;
    const { userId, path } = placeAt(set, at % (set.users * set.notes));
    const ALL = [
      { everywhere: { absent: { secret: true } } },
      { everywhere: { absent: `/password-${at}\\b/i` } },
      { everywhere: { absent: { expired: true } } },
    ];
    const EACH = [
      { each_user: { at_most_one_line: `/\\b(vegan|omnivore) ${at}\\b/i` } },
      { each_user: { path: 'user/notes/0000.md', exists: true } },
      { each_user: { max_bytes: 1_000_000 + at } },
    ];
    const ONE = [
      { user: userId, ask: pickQuery(at), expect: { path: `user/${path}`, within: 50 } },
      { user: userId, ask: pickQuery(at), expect: { path: `user/${path}`, context: true } },
      { user: userId, absent: { secret: true } },
      { path: `users/${userId}/${path}`, contains: '## Details' },
    ];
    const kinds = at % 4 === 0 ? ALL : at % 4 === 1 ? EACH : ONE;
    return { name, ...kinds[Math.floor(at / 4) % kinds.length] };
  });
}
