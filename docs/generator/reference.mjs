import { renderAdminRoutes } from './admin-routes.mjs';
import { renderConfigSchema } from './config-schema.mjs';
import { renderConfiguration } from './configuration.mjs';
import { renderErrors } from './errors.mjs';
import { renderEvents } from './events.mjs';
import { renderHttpApi } from './http-api.mjs';
import { renderPrompts } from './prompts.mjs';
import { renderTools } from './tools.mjs';

/**
 * Where the definitions come from: the sources in the tests, the build in `npm run docs`.
 *
 * @typedef {object} Modules
 * @property {typeof import('../../core/service.ts')} core
 * @property {typeof import('../../core/errors.ts')} errors
 * @property {typeof import('../../core/config/settings.ts')} settings
 * @property {typeof import('../../core/config/option.ts')} option
 * @property {typeof import('../../core/http/routes.ts')} routes
 * @property {typeof import('../../core/http/openapi-components.ts')} components
 * @property {typeof import('../../core/schemas/events.ts')} events
 * @property {typeof import('../../core/subagents/remember/prompt.ts')} remember
 * @property {typeof import('../../core/subagents/context/prompt.ts')} context
 * @property {typeof import('../../core/edits/verify.ts')} verify
 * @property {typeof import('../../plugins/mcp/http.ts')} mcp
 * @property {typeof import('../../plugins/dreaming/routes/list.ts')} dreaming
 * @property {typeof import('../../plugins/memory-stores/routes.ts')} stores
 * @property {typeof import('../../plugins/dreaming/prompt.ts')} dream
 * @property {typeof import('../../plugins/storage-sqlite/index.ts')} sqlite
 * @property {typeof import('../../plugins/storage-sqlite/options.ts')} sqliteOptions
 * @property {typeof import('../../plugins/storage-mysql/options.ts')} mysqlOptions
 * @property {typeof import('../../plugins/storage-postgres/options.ts')} postgresOptions
 */

/**
 * The pages below docs/reference/, and the types of the admin API in process, by path.
 *
 * @param {Modules} modules
 * @returns {Map<string, string>}
 */
export function renderReference({
  core,
  errors,
  settings,
  option,
  routes,
  components,
  events,
  remember,
  context,
  verify,
  mcp,
  dreaming,
  stores,
  dream,
  sqlite,
  sqliteOptions,
  mysqlOptions,
  postgresOptions,
}) {
  // Never opened: it is there to be asked for its definitions.
  const service = core.createCore({
    storage: sqlite.sqlite({ filename: ':memory:' }),
    tools: { delete: true, move: true, history: true },
  });
  const tools = service.tools.definitions;
  // Those of MCP, dreaming and memory stores are plugins', and the command brings these plugins.
  const unused = /** @type {Parameters<typeof dreaming.dreamRoutes>[0]} */ (
    /** @type {unknown} */ ({})
  );
  const definitions = [
    ...routes.serviceRoutes(service),
    ...dreaming.dreamRoutes(unused),
    ...stores.memoryStoreRoutes(service.stores),
    mcp.mcpRoute(service.tools),
  ];
  return new Map([
    [
      'docs/reference/configuration.md',
      renderConfiguration(settings, option, {
        'storage-sqlite': sqliteOptions.SQLITE_OPTIONS,
        'storage-mysql': mysqlOptions.MYSQL_OPTIONS,
        'storage-postgres': postgresOptions.POSTGRES_OPTIONS,
      }),
    ],
    ['docs/reference/memory.config.schema.json', renderConfigSchema(settings, option)],
    ['core/http/admin-routes.ts', renderAdminRoutes(definitions, components)],
    ['docs/reference/errors.md', renderErrors(errors.ERROR_CODES)],
    ['docs/reference/events.md', renderEvents(events)],
    ['docs/reference/http-api.md', renderHttpApi(definitions, errors.ERROR_CODES)],
    [
      'docs/reference/prompts.md',
      renderPrompts([
        {
          title: 'memory_remember',
          purpose: 'Proposes where a fact belongs, and what it changes.',
          source: 'core/subagents/remember/prompt.ts',
          version: remember.REMEMBER_PROMPT_VERSION,
          text: remember.SYSTEM_PROMPT,
        },
        {
          title: 'memory_remember: refused operations',
          purpose: 'Proposes again what was refused for its form.',
          source: 'core/subagents/remember/prompt.ts',
          version: remember.REPAIR_PROMPT_VERSION,
          text: remember.REPAIR_PROMPT,
        },
        {
          title: 'Dreaming',
          purpose: 'Proposes what to merge, correct, move and list.',
          source: 'plugins/dreaming/prompt.ts',
          version: dream.PROMPT_VERSION,
          text: dream.SYSTEM_PROMPT,
        },
        {
          title: 'The verifier',
          purpose: 'Judges what `memory_remember` or a dream proposes.',
          source: 'core/edits/verify.ts',
          version: verify.VERIFIER_PROMPT_VERSION,
          text: verify.VERIFIER_PROMPT,
        },
        {
          title: 'memory_remember, for a small model',
          purpose: 'The short form of the first prompt.',
          source: 'core/subagents/remember/prompt.ts',
          version: remember.SHORT_PROMPT_VERSION,
          text: remember.SHORT_PROMPT,
        },
        {
          title: 'Dreaming, for a small model',
          purpose: 'The short form of the prompt of dreams.',
          source: 'plugins/dreaming/prompt.ts',
          version: dream.SHORT_PROMPT_VERSION,
          text: dream.SHORT_PROMPT,
        },
        {
          title: 'The verifier, for a small model',
          purpose: 'The short form of the prompt of the verifier.',
          source: 'core/edits/verify.ts',
          version: verify.SHORT_VERIFIER_PROMPT_VERSION,
          text: verify.SHORT_VERIFIER_PROMPT,
        },
        {
          title: 'memory_context: searches',
          purpose: 'Plans what else to search for.',
          source: 'core/subagents/context/prompt.ts',
          version: context.SEARCHES_PROMPT_VERSION,
          text: context.SEARCHES_PROMPT,
        },
        {
          title: 'memory_context: lines',
          purpose: 'Selects the lines that help.',
          source: 'core/subagents/context/prompt.ts',
          version: context.LINES_PROMPT_VERSION,
          text: context.LINES_PROMPT,
        },
      ]),
    ],
    ['docs/reference/tools.md', renderTools(tools)],
  ]);
}
