import type { ToolDefinition } from '../contracts/tool.ts';
import { WriteArguments, WriteResult } from '../schemas/memory-tools/files.ts';

export const memoryWrite: ToolDefinition<WriteArguments, WriteResult> = {
  name: 'memory_write',
  title: 'Write a memory file',
  description:
    'Creates a memory file or replaces its whole content. To change a part of a file, use memory_patch. End a line that is true only for a time with <!-- until: 2026-12-31 -->, or give a whole file valid_until: 2026-12-31 in its front matter: it is left out of answers from then on.',
  inputSchema: WriteArguments,
  outputSchema: WriteResult,
  readOnly: false,
  idempotent: true,
  requiresModel: false,
  errorCodes: [
    'INVALID_PATH',
    'SPACE_NOT_ALLOWED',
    'INVALID_CONTENT',
    'READ_ONLY_SCOPE',
    'WRITES_FROZEN',
    'VERSION_CONFLICT',
    'PAYLOAD_TOO_LARGE',
    'QUOTA_EXCEEDED',
    'IDEMPOTENCY_KEY_REUSED',
    'CONTENT_REFUSED',
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
