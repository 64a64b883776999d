import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, it } from 'node:test';
import { createMemoryService } from 'memory-service';
import { checkDatabase, countResults, formatResults } from 'memory-service/testing';
import { database } from './database.js';

const folder = await mkdtemp(join(tmpdir(), 'my-database-'));
after(() => rm(folder, { recursive: true, force: true }));

function make(place: string) {
  return database({ filename: join(folder, `${place}.db`) });
}

void it('keeps the rules of a database', async (test) => {
  const results = await checkDatabase(make);
  const report = formatResults(results);
  assert.equal(countResults(results).failed, 0, report);
  for (const line of report.split('\n')) test.diagnostic(line);
});

void it('has the memory again after a restart', async () => {
  const path = 'user/tea.md';
  const content = 'Prefers green tea.\n';
  await callTool('memory_write', { path, content });
  const read = await callTool('memory_read', { path });
  assert.equal((read as { content: string }).content, content);
});

/** Starts a service on the database, calls a tool of it and closes it. */
async function callTool(name: string, args: unknown): Promise<unknown> {
  const service = createMemoryService({ storage: make('restarted') });
  await service.ready();
  try {
    const request = { context: { userId: 'alice' }, arguments: args };
    return (await service.tools.execute(name, request)).result;
  } finally {
    await service.close();
  }
}
