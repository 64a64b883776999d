import type { ToolDefinition } from '../contracts/tool.ts';
import { PatchArguments, PatchResult } from '../schemas/memory-tools/files.ts';

export const memoryPatch: ToolDefinition<PatchArguments, PatchResult> = {
  name: 'memory_patch',
  title: 'Patch a memory file',
  description:
    'Changes parts of a memory file: replaces exact texts, appends lines, or both. All of it applies, or nothing does. End a line that is true only for a time with <!-- until: 2026-12-31 -->: it is left out of answers from then on.',
  inputSchema: PatchArguments,
  outputSchema: PatchResult,
  readOnly: false,
  requiresModel: false,
  errorCodes: [
    'INVALID_PATH',
    'SPACE_NOT_ALLOWED',
    'INVALID_CONTENT',
    'READ_ONLY_SCOPE',
    'WRITES_FROZEN',
    'FILE_NOT_FOUND',
    'VERSION_CONFLICT',
    'PATCH_NOT_FOUND',
    'PATCH_AMBIGUOUS',
    'WORK_LIMIT_EXCEEDED',
    'PAYLOAD_TOO_LARGE',
    'IDEMPOTENCY_KEY_REUSED',
    'CONTENT_REFUSED',
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
