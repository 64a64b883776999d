// A process of its own that appends lines to one file of a SQLite database, through the built
// plugin: node append-process.mjs <plugin's index.js> <database> <driver> <label> <count>

import { createHash, randomBytes } from 'node:crypto';

const [plugin = '', filename, driver, label, count] = process.argv.slice(2);
const { sqlite } = await import(plugin);
const { createStorage } = await import(
  new URL('../../dist/core/storage/storage.js', import.meta.url).href
);
// The other process may have the lock for long on a busy machine.
const storage = createStorage(sqlite({ filename, driver, lockTimeoutMs: 60_000 }));
const quiet = { debug() {}, info() {}, warn() {}, error() {} };
await storage.init({ log: quiet, now: Date.now });

const scope = 'u:alice';
const path = 'notes.md';

await Promise.all(
  Array.from({ length: Number(count) }, async (_, index) => {
    // Some at once and some one after the other, so that the processes meet in every way.
    await new Promise((resolve) => setTimeout(resolve, (index % 20) * 10));
    await storage.mutate(
      { scopes: [scope], files: [{ scope, path }] },
      append(`${label} ${index}`),
    );
    process.stdout.write(`${label} ${index}\n`);
  }),
);
await storage.close();

/** @param {string} line */
function append(line) {
  /** @param {import('../../core/contracts/storage.ts').Current} current */
  return (current) => {
    const state = current.scope(scope);
    const file = current.file({ scope, path });
    const content = `${file?.content ?? ''}${line}\n`;
    const version = (file?.version ?? 0) + 1;
    const size = Buffer.byteLength(content);
    const at = Date.now();
    const id = randomBytes(16).toString('hex');
    const hash = createHash('sha256').update(content).digest('hex');
    const step = { delta: null, keyframe: null, hashFormat: 2 };
    const common = { scope, path, fileNo: 1, actor: 'agent', tool: null, toolCallId: null };
    return {
      result: version,
      writes: 1,
      changes: {
        scopes: [
          {
            ...state,
            version: state.version + 1,
            nextFileNo: 2,
            files: 1,
            bytes: size,
            revisions: state.revisions + 1,
          },
        ],
        files: [
          {
            scope,
            path,
            fileNo: 1,
            version,
            size,
            lines: version,
            hash,
            deletedAt: null,
            createdAt: at,
            updatedAt: at,
            revisions: version,
            writes: version,
            latestActor: 'agent',
            latestRevisionId: id,
            chainRows: 0,
            chainBytes: 0,
            content,
          },
        ],
        revisions: [
          {
            ...common,
            ...step,
            id,
            version,
            action: 'update',
            reason: null,
            traceId: null,
            runId: null,
            at,
            size,
            addedLines: 1,
            removedLines: 0,
            peerId: null,
            redacted: false,
            redactedBefore: false,
            hash,
            existedBefore: version > 1,
            existsAfter: true,
          },
        ],
      },
    };
  };
}
