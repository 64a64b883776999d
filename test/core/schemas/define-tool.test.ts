import Type from 'typebox';
import { expect, expectTypeOf, it } from 'vitest';
import { defineTool, type Plugin } from '../../../core/plugin.ts';
import { call, openCore } from '../../support/service.ts';

const rest = {
  title: 'Repeat',
  description: 'Repeats a text.',
  readOnly: true,
  requiresModel: false,
  errorCodes: [],
  example: { arguments: { text: 'a', times: 2 }, result: { text: 'aa' } },
} as const;

it('a tool of a plugin has its arguments typed by its schema, without a cast', async () => {
  const plain = defineTool({
    ...rest,
    name: 'memory_repeat',
    inputSchema: {
      type: 'object',
      properties: { text: { type: 'string' }, times: { type: 'integer' } },
      required: ['text'],
      additionalProperties: false,
    },
    outputSchema: {
      type: 'object',
      properties: { text: { type: 'string' } },
      required: ['text'],
    },
    async run(_services, args) {
      expectTypeOf(args.text).toEqualTypeOf<string>();
      expectTypeOf(args.times).toEqualTypeOf<number | undefined>();
      return { text: args.text.repeat(args.times ?? 1) };
    },
  });
  const ofTypeBox = defineTool({
    ...rest,
    name: 'memory_repeat_again',
    inputSchema: Type.Object({ text: Type.String(), times: Type.Optional(Type.Integer()) }),
    outputSchema: Type.Object({ text: Type.String() }),
    async run(_services, args) {
      expectTypeOf(args).toEqualTypeOf<{ text: string; times?: number }>();
      return { text: args.text.repeat(args.times ?? 1) };
    },
  });
  const outputSchema = Type.Object({ text: Type.String() });
  // @ts-expect-error -- its answer is not what the schema says
  defineTool({ ...rest, name: 'x', inputSchema: {}, outputSchema, run: async () => ({ text: 5 }) });

  const plugin: Plugin = {
    name: 'repeating',
    apiVersion: 2,
    setup: () => ({ tools: [plain, ofTypeBox] }),
  };
  const core = await openCore({ plugins: [plugin] });
  for (const name of ['memory_repeat', 'memory_repeat_again']) {
    const { result } = await call(core, 'alice', name, { text: 'ab', times: 2 });
    expect(result).toEqual({ text: 'abab' });
  }
});
