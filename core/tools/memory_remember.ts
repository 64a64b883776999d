import Type, { type Static } from 'typebox';
import type { ToolDefinition } from '../contracts/tool.ts';
import { MemoryError } from '../errors.ts';
import { reasonSchema, revisionIdSchema, strict, versionSchema } from './schemas.ts';

const inputSchema = Type.Object(
  {
    text: Type.String({ minLength: 1, maxLength: 16_384, description: 'The fact to remember.' }),
    at: Type.Optional(
      Type.String({
        format: 'date-time',
        description: 'When it was said, RFC 3339; default now. Words like yesterday go by it.',
      }),
    ),
    speaker: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 100,
        description: 'Who said it, where it was not the user: "I" is the speaker.',
      }),
    ),
    reason: Type.Optional(reasonSchema),
    maxWrites: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 20, description: 'Files it may change. Default: 5.' }),
    ),
    dryRun: Type.Optional(Type.Boolean({ description: 'Answer the diffs and write nothing.' })),
  },
  strict,
);

const outputSchema = Type.Object({
  summary: Type.String(),
  writes: Type.Array(
    Type.Object({
      path: Type.String(),
      version: versionSchema,
      revisionId: Type.Union([revisionIdSchema, Type.Null()], {
        description: 'Id of the revision; null in a dry run.',
      }),
      diff: Type.String({ description: 'Unified diff.' }),
    }),
  ),
  refused: Type.Array(
    Type.Object({
      why: Type.String(),
      lines: Type.Array(Type.String(), {
        description: 'The lines that were not written; empty in a replayed answer.',
      }),
    }),
    { description: 'What was proposed and not stored.' },
  ),
  unchanged: Type.Boolean({ description: 'Memory says so already.' }),
});

export const memoryRemember: ToolDefinition<
  Static<typeof inputSchema>,
  Static<typeof outputSchema>
> = {
  name: 'memory_remember',
  title: 'Remember a fact',
  description:
    'Files a fact where it belongs in this user’s memory: corrects the line that it changes, adds one, or takes one away (“Forget …”). What a second look refuses is named in refused. Needs a configured model.',
  inputSchema,
  outputSchema,
  readOnly: false,
  requiresModel: true,
  // A model has 120 s for its answer.
  deadlineMs: 150_000,
  errorCodes: [
    'MODEL_NOT_CONFIGURED',
    'MODEL_FAILED',
    'MODEL_TIMEOUT',
    'QUOTA_EXCEEDED',
    'WORK_LIMIT_EXCEEDED',
    'INVALID_CONTENT',
    'VERSION_CONFLICT',
  ],
  example: {
    arguments: { text: 'The user now prefers coffee.' },
    result: {
      summary: 'Changed user/profile.md.',
      writes: [
        {
          path: 'user/profile.md',
          version: 8,
          revisionId: '019c1350-2d80-7004-8e90-52c4a7d1f3b6',
          diff: '@@ -3 +3 @@\n-- Prefers tea.\n+- Prefers coffee.\n',
        },
      ],
      refused: [],
      unchanged: false,
    },
  },
  unavailable: (services) => (services.remember === null ? 'MODEL_NOT_CONFIGURED' : null),
  run(services, args, call) {
    if (services.remember === null) throw new MemoryError('MODEL_NOT_CONFIGURED');
    return services.remember.remember(args, call);
  },
};
