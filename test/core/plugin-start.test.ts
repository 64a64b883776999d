import { expect, it } from 'vitest';
import type { Plugin } from '../../core/contracts/plugin.ts';
import type { RouteDefinition } from '../../core/contracts/route.ts';
import type { ToolDefinition } from '../../core/contracts/tool.ts';
import { createMemoryService } from '../../core/index.ts';
import { sqlite } from '../../plugins/storage-sqlite/index.ts';
import { rejection } from '../support/rejection.ts';

const route = (more: Partial<RouteDefinition>): RouteDefinition => ({
  method: 'GET',
  path: '/v1/greetings',
  auth: 'none',
  tag: 'Greetings',
  summary: 'Greet',
  resultSchema: null,
  errorCodes: [],
  handle: () => 'hello',
  ...more,
});

const greeter = (setup: Plugin['setup']): Plugin => ({ name: 'greeter', apiVersion: 2, setup });

it.each([
  ['has the place of another', { path: '/healthz' }],
  ['stands below the admin API without its authentication', { path: '/v1/admin/greetings' }],
  ['has a schema that is none', { querySchema: { type: 'objekt' } }],
])('a plugin whose route %s stops the start', async (_, more) => {
  const plugins = [greeter(() => ({ routes: [route(more)] }))];
  const service = createMemoryService({ storage: sqlite({ filename: ':memory:' }), plugins });
  const error = await rejection(service.start());
  expect(error.code).toBe('INVALID_REQUEST');
  expect(error.message).toMatch(/^The routes of the plugin greeter cannot be served\. /);
  await service.close();
});

it('a plugin’s tool works as the very first call', async () => {
  const tool: ToolDefinition = {
    name: 'memory_greet',
    title: 'Greet',
    description: 'Greets.',
    inputSchema: { type: 'object', additionalProperties: false },
    outputSchema: { type: 'object' },
    readOnly: true,
    requiresModel: false,
    errorCodes: [],
    example: { arguments: {}, result: {} },
    run: async () => ({ greeting: 'hello' }),
  };
  const plugins = [greeter(() => ({ tools: [tool] }))];
  const service = createMemoryService({ storage: sqlite({ filename: ':memory:' }), plugins });
  const call = { context: { userId: 'alice' }, arguments: {} };
  const { result } = await service.tools.execute('memory_greet', call);
  expect(result).toEqual({ greeting: 'hello' });
  expect((await rejection(service.tools.execute('memory_grete', call))).code).toBe(
    'TOOL_NOT_FOUND',
  );
  await service.close();
});
