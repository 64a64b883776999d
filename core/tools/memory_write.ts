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
    content: Type.String({ description: 'The whole new content, usually markdown.' }),
    reason: Type.Optional(reasonSchema),
    ifVersion: Type.Optional(ifVersionSchema),
  },
  strict,
);

const outputSchema = Type.Object({
  path: Type.String(),
  version: versionSchema,
  revisionId: revisionIdSchema,
  created: Type.Boolean({ description: 'The file did not exist.' }),
  unchanged: Type.Boolean({ description: 'It had that content already: no revision was made.' }),
});

export const memoryWrite: ToolDefinition<
  Static<typeof inputSchema>,
  Static<typeof outputSchema>
> = {
  name: 'memory_write',
  title: 'Write a memory file',
  description:
    'Creates a memory file or replaces its whole content. To change a part of a file, use memory_patch.',
  inputSchema,
  outputSchema,
  readOnly: false,
  idempotent: true,
  requiresModel: false,
  errorCodes: [
    'INVALID_PATH',
    'INVALID_CONTENT',
    'READ_ONLY_SCOPE',
    'VERSION_CONFLICT',
    'PAYLOAD_TOO_LARGE',
    'QUOTA_EXCEEDED',
    'IDEMPOTENCY_KEY_REUSED',
  ],
  example: {
    arguments: {
      path: 'user/profile.md',
      content: '# Profile\n\n- Prefers tea.\n',
      reason: 'The user said so.',
    },
    result: {
      path: 'user/profile.md',
      version: 1,
      revisionId: '019c1350-2d80-7000-8a31-6f4f1c2b9d10',
      created: true,
      unchanged: false,
    },
  },
  run: (services, args, call) => services.files.write(args, call),
};
