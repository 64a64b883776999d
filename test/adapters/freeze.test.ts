import { afterAll, beforeAll, expect, it } from 'vitest';
import { startModelServer } from '../support/model-server/model-server.ts';
import { LOOPS } from './loops.ts';
import { openService, type ServedService } from './service.ts';

const FILE = { path: 'user/profile.md', content: '# Tea\n' };

let service: ServedService;
beforeAll(async () => {
  service = await openService();
  const stopped = await service.post('freeze', { all: true, reason: 'for operators', minutes: 9 });
  expect(stopped.status).toBe(201);
});
afterAll(() => service.close());

it.each(LOOPS.map((loop) => [loop.name, loop] as const))(
  '%s tells the model in plain words that writes are stopped, and goes on',
  async (_, loop) => {
    const args = { ...FILE, ...(loop.isStrict ? { reason: null, ifVersion: null } : {}) };
    const model = await startModelServer([{ calls: [{ name: 'memory_write', arguments: args }] }]);
    const options = { userId: 'alice', tools: ['memory_write', 'memory_read'] };
    await loop.run({ runner: service.tools, options, url: model.url });
    const [answer = ''] = (model.requests.at(-1)?.answers ?? []).map(
      ({ text }) => loop.toText?.(text) ?? text,
    );
    expect(answer).toMatch(/WRITES_FROZEN: An operator has stopped writes here until \S+Z\./);
    expect(answer).toContain('Nothing was written. Do not repeat the call before details.until');
    expect(answer).not.toContain('for operators');
  },
);
