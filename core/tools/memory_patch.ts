import Type, { type Static } from 'typebox';
import type { ToolDefinition } from '../contracts/tool.ts';
import {
  ifVersionSchema,
  pathSchema,
  reasonSchema,
  revisionIdSchema,
  strict,
  versionSchema,
} from './schemas.ts';

const inputSchema = Type.Object(
  {
    path: pathSchema,
    edits: Type.Optional(
      Type.Array(
        Type.Object(
          {
            oldText: Type.String({
              minLength: 1,
              description:
                'Text of the file, exactly; it must occur once unless replaceAll is set.',
            }),
            newText: Type.String({ description: 'What takes its place; empty removes it.' }),
            replaceAll: Type.Optional(Type.Boolean({ description: 'Replace every occurrence.' })),
          },
          strict,
        ),
        {
          minItems: 1,
          maxItems: 100,
          description:
            'Replacements { oldText, newText, replaceAll? }, applied in order, each to what the one before left.',
        },
      ),
    ),
    append: Type.Optional(
      Type.Object(
        {
          text: Type.String({ minLength: 1, description: 'Lines to add.' }),
          afterHeading: Type.Optional(
            Type.String({
              minLength: 1,
              maxLength: 1000,
              description:
                "Heading whose section they end up in, as in '## Preferences'. Default: the end of the file.",
            }),
          ),
        },
        {
          ...strict,
          description:
            'Lines to add: { text, afterHeading? }. Give edits, append, or both; edits apply first.',
        },
      ),
    ),
    reason: Type.Optional(reasonSchema),
    ifVersion: Type.Optional(ifVersionSchema),
  },
  strict,
);

const outputSchema = Type.Object({
  path: Type.String(),
  version: versionSchema,
  revisionId: revisionIdSchema,
  replacements: Type.Integer({ minimum: 0, description: 'Occurrences that edits replaced.' }),
  unchanged: Type.Boolean({ description: 'The content is what it was: no revision was made.' }),
});

export const memoryPatch: ToolDefinition<
  Static<typeof inputSchema>,
  Static<typeof outputSchema>
> = {
  name: 'memory_patch',
  title: 'Patch a memory file',
  description:
    'Changes parts of a memory file: replaces exact texts, appends lines, or both. All of it applies, or nothing does.',
  inputSchema,
  outputSchema,
  readOnly: false,
  requiresModel: false,
  errorCodes: [
    'INVALID_PATH',
    'INVALID_CONTENT',
    'READ_ONLY_SCOPE',
    'FILE_NOT_FOUND',
    'VERSION_CONFLICT',
    'PATCH_NOT_FOUND',
    'PATCH_AMBIGUOUS',
    'WORK_LIMIT_EXCEEDED',
    'PAYLOAD_TOO_LARGE',
    'IDEMPOTENCY_KEY_REUSED',
  ],
  example: {
    arguments: {
      path: 'user/profile.md',
      edits: [{ oldText: 'Prefers tea.', newText: 'Prefers coffee.' }],
      reason: 'The user changed their mind.',
    },
    result: {
      path: 'user/profile.md',
      version: 2,
      revisionId: '019c1350-2d80-7001-9c12-0b7de1a45f3e',
      replacements: 1,
      unchanged: false,
    },
  },
  run: (services, args, call) => services.files.patch(args, call),
};
