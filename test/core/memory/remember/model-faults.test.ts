import { expect, it } from 'vitest';
import { serveWithModel } from '../../../support/model-service.ts';
import { CHAT, TRANSPORT } from '../../../support/provider-server/misbehaviour.ts';

const TEA = '- Prefers tea.\n';
const ROUNDS = process.env['MEMORY_TEST_RELEASE'] === undefined ? 3 : 100;
/** By default a test has a minute. */
const LIMIT_MS = ROUNDS * 60_000;

it(
  'answers in time whatever a provider does: remember with a code and no effect, context with what was found (F11)',
  async () => {
    const service = await serveWithModel({}, { timeoutMs: 400 });
    await service.write('user/profile.md', TEA);
    const ways = [...TRANSPORT, ...CHAT];
    expect(ways.length).toBeGreaterThanOrEqual(30);
    for (const { name, behave } of Array.from({ length: ROUNDS }, () => ways).flat()) {
      service.provider.always(behave);
      const refused = await service.execute('memory_remember', { text: 'Prefers coffee.' });
      expect(refused.json.error.code, name).toMatch(/^MODEL_(?:FAILED|TIMEOUT)$/);
      const { status, json } = await service.execute('memory_context', { query: 'tea' });
      expect(status, name).toBe(200);
      expect(json.result, name).toMatchObject({ mode: 'find', degraded: expect.any(String) });
      expect(json.result.context, name).toContain('- Prefers tea.');
      // Two failures in a row don't open the circuit, and a good answer makes up for them.
      service.provider.always(null);
      const well = await service.execute('memory_remember', { text: 'Prefers tea.' });
      expect(well.status, name).toBe(200);
    }
    expect(await service.read('user/profile.md')).toBe(TEA);
  },
  LIMIT_MS,
);
