import type { ToolDefinition } from '../contracts/tool.ts';
import { DeleteArguments, DeleteResult } from '../schemas/memory-tools/files.ts';

export const memoryDelete: ToolDefinition<DeleteArguments, DeleteResult> = {
  name: 'memory_delete',
  title: 'Delete a memory file',
  description: 'Deletes a memory file. Its history stays, and an operator can bring it back.',
  inputSchema: DeleteArguments,
  outputSchema: DeleteResult,
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
    'IDEMPOTENCY_KEY_REUSED',
    'CONTENT_REFUSED',
  ],
  example: {
    arguments: { path: 'user/old-plan.md', reason: 'The plan was dropped.' },
    result: {
      path: 'user/old-plan.md',
      version: 4,
      revisionId: '019c1350-2d80-7002-b7d4-91e0c5a3d672',
    },
  },
  run: (services, args, call) => services.files.remove(args, call),
};
