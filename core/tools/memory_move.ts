import type { ToolDefinition } from '../contracts/tool.ts';
import { MoveArguments, MoveResult } from '../schemas/memory-tools/files.ts';

export const memoryMove: ToolDefinition<MoveArguments, MoveResult> = {
  name: 'memory_move',
  title: 'Move a memory file',
  description: 'Moves a memory file to a path where none is. Its history stays with both paths.',
  inputSchema: MoveArguments,
  outputSchema: MoveResult,
  readOnly: false,
  idempotent: true,
  requiresModel: false,
  optional: true,
  errorCodes: [
    'INVALID_PATH',
    'SPACE_NOT_ALLOWED',
    'READ_ONLY_SCOPE',
    'WRITES_FROZEN',
    'FILE_NOT_FOUND',
    'VERSION_CONFLICT',
    'QUOTA_EXCEEDED',
    'IDEMPOTENCY_KEY_REUSED',
    'CONTENT_REFUSED',
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
