import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, vi } from 'vitest';
import { verifyMemory } from '../../core/maintenance/verify.ts';
import type { Core } from '../../core/service.ts';
import { writeSecretHistory, SECRET, VICTIM } from '../support/secret-history.ts';
import { findRaw } from '../support/raw-files.ts';
import { openCore, temporaryDatabase } from '../support/service.ts';
import { sampledDrivers } from '../support/sqlite-drivers.ts';
import { sqlite } from '../support/databases.ts';

const isRelease = process.env['MEMORY_TEST_RELEASE'] !== undefined;
const HISTORIES = isRelease ? 100 : 1;
/** Steps of a history. */
const steps = isRelease ? 300 : 150;
/** Kills while the file is being rewritten. */
const KILLS = isRelease ? 40 : 2;
const operator = { address: null, traceId: null };

describe.each(sampledDrivers)('the files of a database on %s', (driver) => {
  const open = async (seed: number, isSecretKept: boolean) => {
    const filename = await temporaryDatabase();
    const core = await openCore(
      { storage: sqlite({ filename, driver, readers: 2 }), tools: { delete: true } },
      { erasureLookMs: 1 },
    );
    const secret = await writeSecretHistory(core, { seed, isSecretKept, steps });
    expect((await findRaw(filename, SECRET)).length).toBeGreaterThan(10);
    return { filename, core, secret };
  };
  const seeds = Array.from({ length: HISTORIES }, (_, seed) => seed + 1);

  it.each(seeds)('have nothing of an erased user (history %i)', async (seed) => {
    const { filename, core } = await open(seed, true);
    const receipt = await core.erasures.erase({ userId: VICTIM }, { confirm: VICTIM }, operator);
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

  it.each(seeds)(
    'have nothing of a text that was redacted everywhere (history %i)',
    async (seed) => {
      const { filename, core } = await open(seed, true);
      const request = { text: SECRET, in: 'everywhere', reason: 'a test' } as const;
      let answer = await core.revisions.redactText(request, operator);
      while (answer.nextCursor !== null) {
        const next = { ...request, cursor: answer.nextCursor };
        answer = await core.revisions.redactText(next, operator);
      }
      await untilRewritten(core);
      expect(await findRaw(filename, SECRET)).toEqual([]);
      expect((await verifyMemory(core.storage)).findings).toEqual([]);
      await core.close();
      expect(await findRaw(filename, SECRET)).toEqual([]);
    },
  );
});

describe.each(sampledDrivers)('a service on %s that is killed after a receipt', (driver) => {
  const points = ['rewrite', 'emptyLog', 'settle'] as const;
  const moments = Array.from({ length: KILLS }, (_, kill) => 2 + 7 * kill);
  const cases = [...points.map((point) => [point, 0] as const), ...moments.map(within)];

  it.each(cases)('has rewritten the file after its next start (%s, %i ms)', async (point, ms) => {
    const filename = await temporaryDatabase();
    const open = () =>
      openCore({ storage: sqlite({ filename, driver, readers: 2 }), tools: { delete: true } });
    const { bytes, target } = await makeDatabase(ms % 2 === 0);
    await writeFile(filename, bytes);
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

/** Made by the first test that needs one: for an erasure, or for a redaction. */
const databases = new Map<boolean, Promise<{ bytes: Buffer; target: string }>>();

/**
 * A database with one step to do, and the target of it: a user to erase, or the last revision with the
 * secret to redact.
 */
function makeDatabase(isErased: boolean): Promise<{ bytes: Buffer; target: string }> {
  const make = async () => {
    const filename = await temporaryDatabase();
    const core = await openCore({ storage: sqlite({ filename }), tools: { delete: true } });
    const secret = await writeSecretHistory(core, { seed: 100, isSecretKept: isErased, steps });
    for (const id of isErased ? [] : secret.slice(1)) {
      await core.revisions.redact(id, { reason: 'a test' }, operator);
    }
    await core.close();
    return { bytes: await readFile(filename), target: isErased ? VICTIM : (secret[0] ?? '') };
  };
  const made = databases.get(isErased) ?? make();
  databases.set(isErased, made);
  return made;
}

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
