import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { FileKey } from '../../../core/contracts/records.ts';
import { diffTexts } from '../../../core/history/delta.ts';
import { encodeDelta } from '../../../core/history/delta/codec.ts';
import { quiet } from '../../support/quiet-log.ts';
import { temporaryDirectory } from '../../support/service.ts';
import { write } from '../../support/rows.ts';
import { sqlite } from '../../support/databases.ts';

const key: FileKey = { scope: 'u:alice', path: 'notes.md' };
const PATCHES = 1_000;

it('keeps 1,000 small patches of a 64 KB file in a tenth of 1,000 copies', async () => {
  const filename = join(await temporaryDirectory(), 'memory.db');
  const storage = sqlite({ filename });
  await storage.init({ log: quiet, now: Date.now });
  const lines = Array.from({ length: 1_024 }, (_, index) =>
    `${index} `.padEnd(63, 'abcdefg ').slice(0, 63),
  );
  const original = `${lines.join('\n')}\n`;
  expect(original).toHaveLength(65_536);
  await write(storage, key, original, { step: () => ({ delta: null, keyframe: null }) });
  for (let patch = 0; patch < PATCHES; patch += 1) {
    lines[(patch * 37) % lines.length] = `patched ${patch}`.padEnd(63, '.');
    const content = `${lines.join('\n')}\n`;
    await write(storage, key, content, {
      reason: 'a small correction',
      step: (before) =>
        patch % 64 === 63
          ? { delta: null, keyframe: before }
          : { delta: encodeDelta(diffTexts(before, content).delta), keyframe: null },
    });
  }
  await storage.close();
  // All of it: indexes, access rows, and what the database keeps free.
  expect((await stat(filename)).size).toBeLessThan((original.length * PATCHES) / 10);
});
