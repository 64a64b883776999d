import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, vi } from 'vitest';
import { verifyMemory } from '../../core/maintenance/verify.ts';
import type { Core } from '../../core/service.ts';
import { sqlite } from '../../plugins/storage-sqlite/index.ts';
import { writeSecretHistory, SECRET, VICTIM } from '../support/secret-history.ts';
import { findRaw } from '../support/raw-files.ts';
import { openCore, temporaryDatabase } from '../support/service.ts';
import { sqliteDrivers } from '../support/sqlite-drivers.ts';

const HISTORIES = process.env['MEMORY_TEST_RELEASE'] === undefined ? 8 : 100;
/** Kills while the file is being rewritten. */
const KILLS = process.env['MEMORY_TEST_RELEASE'] === undefined ? 4 : 40;
const operator = { address: null, traceId: null };

describe.each(sqliteDrivers)('the files of a database on %s', (driver) => {
  const open = async (seed: number, isSecretKept: boolean) => {
    const filename = await temporaryDatabase();
    const core = await openCore(
      { storage: sqlite({ filename, driver, readers: 2 }), tools: { delete: true } },
      { erasureLookMs: 1 },
    );
    const secret = await writeSecretHistory(core, { seed, isSecretKept });
    expect((await findRaw(filename, SECRET)).length).toBeGreaterThan(10);
    return { filename, core, secret };
  };
  const seeds = Array.from({ length: HISTORIES }, (_, seed) => seed + 1);

  it.each(seeds)('have nothing of an erased user (history %i)', async (seed) => {
    const { filename, core } = await open(seed, true);
    const receipt = await core.erasures.erase(VICTIM, { confirm: VICTIM }, operator);
    expect(receipt).toMatchObject({ left: {}, pending: [] });
    expect(await findRaw(filename, SECRET)).toEqual([]);
    await core.close();
    expect(await findRaw(filename, SECRET)).toEqual([]);
  });

  it.each(seeds)('have nothing of what was redacted (history %i)', async (seed) => {
    const { filename, core, secret } = await open(seed, false);
    for (const id of secret) await core.revisions.redact(id, { reason: 'a test' }, operator);
    await untilRewritten(core);
    expect(await findRaw(filename, SECRET)).toEqual([]);
    await core.close();
    expect(await findRaw(filename, SECRET)).toEqual([]);
  });
});

describe.each(sqliteDrivers)('a service on %s that is killed after a receipt', (driver) => {
  const points = ['rewrite', 'emptyLog', 'settle'] as const;
  const moments = Array.from({ length: KILLS }, (_, kill) => 2 + 7 * kill);
  const cases = [...points.map((point) => [point, 0] as const), ...moments.map(within)];

  it.each(cases)('has rewritten the file after its next start (%s, %i ms)', async (point, ms) => {
    const filename = await temporaryDatabase();
    const open = () =>
      openCore({ storage: sqlite({ filename, driver, readers: 2 }), tools: { delete: true } });
    const first = await open();
    const seed = 100 + ms + points.length;
    const isErased = ms % 2 === 0;
    const secret = await writeSecretHistory(first, { seed, isSecretKept: isErased });
    // All but one: the last one is redacted by the process that dies.
    for (const id of isErased ? [] : secret.slice(1)) {
      await first.revisions.redact(id, { reason: 'a test' }, operator);
    }
    await first.close();

    const target = isErased ? VICTIM : (secret[0] ?? '');
    const script = fileURLToPath(new URL('rewriter.mjs', import.meta.url));
    const args = [script, filename, driver, target, point, String(ms)];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'inherit', 'inherit'] });
    const [, signal] = (await once(child, 'exit')) as [number | null, string | null];
    expect(signal).toBe('SIGKILL');

    const core = await open();
    if (point !== 'within') {
      expect(await core.rewriter.status()).toMatchObject({ state: 'pending' });
    }
    await core.start();
    await untilRewritten(core);
    expect(await findRaw(filename, SECRET)).toEqual([]);
    const page = { limit: 1, order: 'desc', after: null } as const;
    const [receipt] = (await core.storage.audit.list({}, page)).items;
    expect(receipt?.details).toMatchObject({ pending: [] });
    expect((await verifyMemory(core.storage)).findings).toEqual([]);
  });
});

function within(ms: number): readonly ['within', number] {
  return ['within', ms];
}

/** Waits until no receipt is pending any more. */
async function untilRewritten(core: Core): Promise<void> {
  await vi.waitFor(
    async () => expect(await core.rewriter.status()).toMatchObject({ state: 'clean', receipts: 0 }),
    { timeout: 60_000, interval: 100 },
  );
}
