// A plugin with a tool and a route: an agent adds a line to the page of the day, and the operator
// lists the days that have pages.

// #region imports
import { defineTool, MemoryError } from 'memory-service/plugin';

/** @import { Host, Plugin, RouteDefinition } from 'memory-service/plugin' */
// #endregion

// #region plugin
/**
 * Keeps one page per day below `user/<folder>/`.
 *
 * @param {{ folder?: string }} [options]
 * @returns {Plugin}
 */
export function dailyNotes(options = {}) {
  const folder = options.folder ?? 'notes';
  return {
    name: 'daily-notes',
    apiVersion: 2,
    options,
    optionsSchema: {
      type: 'object',
      properties: { folder: { type: 'string', pattern: '^[a-z-]{1,32}$' } },
      additionalProperties: false,
    },
    setup(host) {
      return {
        tools: [noteTool(folder, host)],
        routes: [daysRoute(folder, host)],
        start: () => host.log.info({ folder }, 'daily notes are kept'),
      };
    },
  };
}
// #endregion

// #region tool
/**
 * @param {string} folder
 * @param {Host} host
 */
function noteTool(folder, host) {
  return defineTool({
    name: 'memory_note',
    title: 'Note a line for today',
    description: `Adds a line to the page of the day, user/${folder}/<date>.md.`,
    inputSchema: {
      type: 'object',
      properties: { text: { type: 'string', minLength: 1, maxLength: 1000 } },
      required: ['text'],
      additionalProperties: false,
    },
    outputSchema: {
      type: 'object',
      properties: { path: { type: 'string' }, version: { type: 'integer' } },
      required: ['path', 'version'],
    },
    readOnly: false,
    requiresModel: false,
    errorCodes: ['PAYLOAD_TOO_LARGE', 'QUOTA_EXCEEDED'],
    example: {
      arguments: { text: 'Called the supplier.' },
      result: { path: `user/${folder}/2026-01-31.md`, version: 3 },
    },
    async run({ files }, { text }, call) {
      const day = new Date(host.now()).toISOString().slice(0, 10);
      const path = `user/${folder}/${day}.md`;
      const line = `- ${text}\n`;
      const append = () => files.patch({ path, append: { text: line } }, call);
      // Version 0: fails if somebody else has created the page meanwhile.
      const begin = () => files.write({ path, content: `# ${day}\n\n${line}`, ifVersion: 0 }, call);
      const { version } = await append()
        .catch(upon('FILE_NOT_FOUND', begin))
        .catch(upon('VERSION_CONFLICT', append));
      return { path, version };
    },
  });
}

/**
 * Calls `next` after an error with this code; rethrows any other error.
 *
 * @template T
 * @param {string} code
 * @param {() => Promise<T>} next
 */
function upon(code, next) {
  return (/** @type {unknown} */ error) => {
    if (error instanceof MemoryError && error.code === code) return next();
    throw error;
  };
}
// #endregion

// #region route
/**
 * @param {string} folder
 * @param {Host} host
 * @returns {RouteDefinition<any, any>}
 */
function daysRoute(folder, host) {
  return {
    method: 'GET',
    path: '/v1/admin/daily-notes/:userId',
    auth: 'admin',
    tag: 'Daily notes',
    summary: 'List the days that a user has notes for',
    resultSchema: {
      type: 'object',
      properties: { days: { type: 'array', items: { type: 'string' } } },
      required: ['days'],
    },
    errorCodes: ['INVALID_USER_ID'],
    async handle({ params }) {
      const prefix = `${folder}/`;
      const page = { prefix, after: null, limit: 500 };
      const pages = await host.memory.list(`u:${params.userId}`, page);
      return { days: pages.map(({ path }) => path.slice(prefix.length, -'.md'.length)) };
    },
  };
}
// #endregion
