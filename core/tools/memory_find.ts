import Type, { type Static } from 'typebox';
import type { ToolDefinition } from '../contracts/tool.ts';
import { asOfSchema, strict, timeArgument, timeSchema, versionSchema } from './schemas.ts';

const inputSchema = Type.Object(
  {
    query: Type.String({
      minLength: 1,
      maxLength: 200_000,
      description: 'What you look for, in your own words; any text works.',
    }),
    path: Type.Optional(
      Type.String({
        maxLength: 1024,
        description: 'Only paths that start with this, as in user/projects/. Default: everything.',
      }),
    ),
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 50, description: 'Results. Default: 10.' }),
    ),
    group: Type.Optional(
      Type.Enum(['file', 'passage'], {
        type: 'string',
        description:
          'file: each file once, with its best passage (default). passage: each passage.',
      }),
    ),
    mode: Type.Optional(
      Type.Enum(['auto', 'text', 'hybrid'], {
        type: 'string',
        description: 'auto: hybrid when an embedder is configured, else text (default).',
      }),
    ),
    since: Type.Optional(
      timeArgument('Only passages with a line that was written at or after this time, RFC 3339.'),
    ),
    until: Type.Optional(
      timeArgument('Only passages with a line that was written before this time, RFC 3339.'),
    ),
    sort: Type.Optional(
      Type.Enum(['relevance', 'newest'], {
        type: 'string',
        description: 'newest: of what matches best, the lines written last come first.',
      }),
    ),
    asOf: Type.Optional(asOfSchema),
    explain: Type.Optional(Type.Boolean({ description: 'Add what each score is made of.' })),
  },
  strict,
);

const lineSchema = Type.Integer({ minimum: 1 });

const outputSchema = Type.Object({
  mode: Type.Enum(['text', 'hybrid'], { description: 'The search that was used.' }),
  degraded: Type.Optional(Type.String({ description: 'Why a hybrid search fell back to text.' })),
  results: Type.Array(
    Type.Object({
      path: Type.String(),
      score: Type.Number({ description: 'Comparable within one answer alone.' }),
      startLine: lineSchema,
      endLine: lineSchema,
      heading: Type.Union([Type.String(), Type.Null()], {
        description: 'The headings above the passage, joined by " > ".',
      }),
      snippet: Type.String({ description: 'The passage, with neighbours where there is room.' }),
      version: versionSchema,
      updatedAt: timeSchema,
      writtenAt: Type.Optional(
        Type.String({
          format: 'date-time',
          description: 'When the newest line of the passage was written, where time was asked for.',
        }),
      ),
      signals: Type.Optional(
        Type.Record(Type.String(), Type.Number(), { description: 'With explain alone.' }),
      ),
    }),
  ),
});

export const memoryFind: ToolDefinition<Static<typeof inputSchema>, Static<typeof outputSchema>> = {
  name: 'memory_find',
  title: 'Search memory',
  description:
    'Searches the memory of this user and the shared one, and answers with the best files and the lines in them. An expression of time in the question (“last spring”, “the latest”) raises lines of that time. Use memory_read for more of a file.',
  inputSchema,
  outputSchema,
  readOnly: true,
  requiresModel: false,
  errorCodes: ['INVALID_PATH', 'WORK_LIMIT_EXCEEDED'],
  example: {
    arguments: { query: 'what does she like to drink' },
    result: {
      mode: 'text',
      results: [
        {
          path: 'user/profile.md',
          score: 7.31,
          startLine: 3,
          endLine: 3,
          heading: 'Profile > Drinks',
          snippet: '- Prefers tea.',
          version: 7,
          updatedAt: '2026-01-31T09:30:00.000Z',
        },
      ],
    },
  },
  run: (services, args, call) => services.find.find(args, call),
};
