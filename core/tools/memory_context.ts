import Type, { type Static } from 'typebox';
import type { ToolDefinition } from '../contracts/tool.ts';
import { strict, versionSchema } from './schemas.ts';

const inputSchema = Type.Object(
  {
    query: Type.String({
      minLength: 1,
      maxLength: 200_000,
      description: 'The question or the task that the memory is to help with.',
    }),
    maxChars: Type.Optional(
      Type.Integer({
        minimum: 200,
        maximum: 100_000,
        description: 'Length of the context in characters, at most. Default: 8000.',
      }),
    ),
  },
  strict,
);

const outputSchema = Type.Object({
  context: Type.String({
    description: 'Markdown that names its sources; empty when nothing fits.',
  }),
  sources: Type.Array(
    Type.Object({
      path: Type.String(),
      startLine: Type.Integer({ minimum: 1 }),
      endLine: Type.Integer({ minimum: 1 }),
      version: versionSchema,
    }),
  ),
  mode: Type.Enum(['model', 'find'], {
    description: 'model: a model wrote it from what was found; find: it is what was found.',
  }),
  degraded: Type.Optional(
    Type.String({
      description:
        'Why a model that is configured did not write it, or an embedder that is configured did not help to find it.',
    }),
  ),
});

export const memoryContext: ToolDefinition<
  Static<typeof inputSchema>,
  Static<typeof outputSchema>
> = {
  name: 'memory_context',
  title: 'Gather context from memory',
  description:
    'Gathers what memory holds on a question as one text, ready for a prompt, with the files and lines that it comes from.',
  inputSchema,
  outputSchema,
  readOnly: true,
  requiresModel: false,
  // A model has 20 s for its answer.
  deadlineMs: 35_000,
  errorCodes: [],
  example: {
    arguments: { query: 'Plan a birthday dinner.', maxChars: 2000 },
    result: {
      context: '## user/profile.md, line 3, version 7\n\nUnder: Profile\n\n- Prefers tea.\n',
      sources: [{ path: 'user/profile.md', startLine: 3, endLine: 3, version: 7 }],
      mode: 'find',
    },
  },
  run: (services, args, call) => services.context.context(args, call),
};
