import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { hashText } from '../../../core/files/content.ts';
import { hashRow } from '../../../core/history/chain.ts';

it('hashes a row as the documented example says', () => {
  const shown: unknown = JSON.parse(
    readFileSync(new URL('../../../examples/undo/row-hash.json', import.meta.url), 'utf8'),
  );
  const row: Parameters<typeof hashRow>[0] = {
    hashFormat: 2,
    id: '019b7500-0000-7000-8000-000000000000',
    scope: 'u:alice',
    path: 'tea.md',
    version: 1,
    action: 'create',
    actor: 'admin',
    operator: null,
    reason: null,
    tool: null,
    toolCallId: null,
    traceId: null,
    runId: null,
    at: Date.UTC(2026, 0, 1),
    size: 6,
    addedLines: 1,
    removedLines: 0,
    peerId: null,
    reverts: null,
    lineageId: null,
    keyId: null,
    commitId: null,
    existedBefore: false,
    existsAfter: true,
    hash: hashText('Green\n'),
    contentSalt: '0'.repeat(32),
    contentSeal: null,
    redactedBefore: false,
    previousHash: null,
    chainHash: null,
  };
  expect(hashRow(row)).toBe(hashText(JSON.stringify(shown)));
  // A field that is set gets into the hash.
  expect(hashRow({ ...row, reason: 'tidying' })).not.toBe(hashRow(row));
});
