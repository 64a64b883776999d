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
    from: pathSchema,
    to: pathSchema,
    reason: Type.Optional(reasonSchema),
    ifVersion: Type.Optional(ifVersionSchema),
  },
  strict,
);

const outputSchema = Type.Object({
  from: Type.String(),
  to: Type.String(),
  version: versionSchema,
  revisionId: revisionIdSchema,
});

export const memoryMove: ToolDefinition<Static<typeof inputSchema>, Static<typeof outputSchema>> = {
  name: 'memory_move',
  title: 'Move a memory file',
  description: 'Moves a memory file to a path where none is. Its history stays with both paths.',
  inputSchema,
  outputSchema,
  readOnly: false,
  idempotent: true,
  requiresModel: false,
  optional: true,
  errorCodes: [
    'INVALID_PATH',
    'READ_ONLY_SCOPE',
    'FILE_NOT_FOUND',
    'VERSION_CONFLICT',
    'QUOTA_EXCEEDED',
    'IDEMPOTENCY_KEY_REUSED',
  ],
  example: {
    arguments: { from: 'user/plan.md', to: 'user/projects/plan.md' },
    result: {
      from: 'user/plan.md',
      to: 'user/projects/plan.md',
      version: 1,
      revisionId: '019c1350-2d80-7003-a5b1-3d2f7e8c9041',
    },
  },
  run: (services, args, call) => services.files.move(args, call),
};
