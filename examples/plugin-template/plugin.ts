import { defineTool, type Plugin } from 'memory-service/plugin';

/** The options of {@link plugin}. */
export interface PluginOptions {
  /** How many words count as long. */
  longFrom?: number;
}

/**
 * Adds the tool `memory_count_words`, which counts the words of a memory file.
 *
 * @example
 * createMemoryService({ storage, plugins: [plugin({ longFrom: 500 })] });
 */
export function plugin(options: PluginOptions = {}): Plugin {
  return {
    name: 'count-words',
    apiVersion: 2,
    options,
    optionsSchema: {
      type: 'object',
      properties: { longFrom: { type: 'integer', minimum: 1 } },
      additionalProperties: false,
    },
    setup: () => ({ tools: [countWords(options.longFrom ?? 1_000)] }),
  };
}

function countWords(longFrom: number) {
  return defineTool({
    name: 'memory_count_words',
    title: 'Count words',
    description: 'Counts the words of a memory file, as in user/profile.md.',
    inputSchema: {
      type: 'object',
      properties: { path: { type: 'string', maxLength: 1024 } },
      required: ['path'],
      additionalProperties: false,
    },
    outputSchema: {
      type: 'object',
      properties: { words: { type: 'integer' }, isLong: { type: 'boolean' } },
      required: ['words', 'isLong'],
    },
    readOnly: true,
    requiresModel: false,
    errorCodes: ['FILE_NOT_FOUND'],
    example: { arguments: { path: 'user/profile.md' }, result: { words: 12, isLong: false } },
    // The types of `path` and of the answer are those of the schemas.
    async run({ files }, { path }, call) {
      const { content } = await files.read({ path }, call);
      const words = content.split(/\s+/).filter((word) => word !== '').length;
      return { words, isLong: words >= longFrom };
    },
  });
}
