import type { ToolDefinition } from '../contracts/tool.ts';
import { MemoryError } from '../errors.ts';
import { RememberArguments, RememberResult } from '../schemas/memory-tools/remember.ts';

export const memoryRemember: ToolDefinition<RememberArguments, RememberResult> = {
  name: 'memory_remember',
  title: 'Remember a fact',
  description:
    'Files a fact where it belongs in this user’s memory: corrects the line that it changes, adds one, or takes one away (“Forget …”). What a second look refuses is named in refused; the whole fact is then kept in the inbox, as it is when the model fails. Needs a configured model.',
  inputSchema: RememberArguments,
  outputSchema: RememberResult,
  readOnly: false,
  requiresModel: true,
  // A model has 120 s for its answer.
  deadlineMs: 150_000,
  errorCodes: [
    'WRITES_FROZEN',
    'MODEL_NOT_CONFIGURED',
    'MODEL_FAILED',
    'MODEL_TIMEOUT',
    'QUOTA_EXCEEDED',
    'WORK_LIMIT_EXCEEDED',
    'INVALID_CONTENT',
    'VERSION_CONFLICT',
    'CONTENT_REFUSED',
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
      filed: 'all',
    },
  },
  unavailable: (services) => (services.remember === null ? 'MODEL_NOT_CONFIGURED' : null),
  run(services, args, call) {
    if (services.remember === null) throw new MemoryError('MODEL_NOT_CONFIGURED');
    return services.remember.remember(args, call);
  },
};
