/**
 * Imports point one way: core/http -> core/tools -> the folders of the domain (files, history, search,
 * edits, subagents, telemetry, maintenance) -> contracts and errors. Plugins and adapters import
 * contracts and errors alone, and nothing in core imports a plugin or an adapter.
 *
 * @type {import('dependency-cruiser').IConfiguration}
 */
module.exports = {
  forbidden: [
    {
      name: 'no-cycles',
      comment: 'Imports of types alone count, too: a circle can only be read as a whole.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'resolvable',
      comment: 'An import that resolves to nothing is a typing error or a missing dependency.',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
    {
      name: 'core-knows-no-extension',
      comment: 'Plugins are loaded by specifier, never imported.',
      severity: 'error',
      from: { path: '^core/' },
      to: { path: '^(plugins|adapters|console|examples|test)/' },
    },
    {
      name: 'errors-import-nothing',
      severity: 'error',
      from: { path: '^core/errors\\.ts$' },
      // Messages quote what they were given, and no half character of it.
      to: { pathNot: '^core/encoding/take-text\\.ts$' },
    },
    {
      name: 'contracts-are-types-alone',
      comment: 'They import each other, the schemas and the error codes, as types.',
      severity: 'error',
      from: { path: '^core/contracts/' },
      to: { pathNot: '^core/(contracts/|schemas/|errors\\.ts$)' },
    },
    {
      name: 'contracts-have-no-run-time',
      severity: 'error',
      from: { path: '^core/contracts/' },
      to: { dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'the-domain-has-no-http-and-no-sql',
      severity: 'error',
      from: {
        path: '^core/(archive|formats|files|history|search|edits|language|subagents|telemetry|maintenance)/',
      },
      to: {
        path: [
          '^core/(http/|tools/|cli/|host/|service/|(index|service)\\.ts$)',
          'node_modules/(koa|@koa|knex|mysql2|pg|sqlite3|better-sqlite3)(/|$)',
        ],
      },
    },
    {
      name: 'tools-know-no-http',
      severity: 'error',
      from: { path: '^core/tools/' },
      to: { path: '^core/(http/|cli/|host/|service/|(index|service)\\.ts$)' },
    },
    {
      name: 'http-knows-no-command',
      severity: 'error',
      from: { path: '^core/http/' },
      to: { path: '^core/(cli/|index\\.ts$)' },
    },
    {
      name: 'the-service-knows-no-command',
      comment: 'createMemoryService() reads no environment, prints nothing, catches no signal.',
      severity: 'error',
      from: { path: '^core/', pathNot: '^core/(cli|config)/' },
      // What is given is checked by the same tables; none of these reads anything.
      to: {
        path: '^core/(cli|config)/',
        pathNot: '^core/config/(error|option|service|settings|shown)\\.ts$',
      },
    },
    {
      name: 'plugins-see-contracts',
      severity: 'error',
      from: { path: '^plugins/([^/]+)/' },
      to: {
        path: '^(core|plugins|adapters|console|examples|test)/',
        pathNot: [
          '^core/contracts/',
          '^core/schemas/(define-route|dreams|portable-schema|revisions|shapes|spaces|tool-prefix|value-counts)\\.ts$',
          '^core/errors\\.ts$',
          '^core/(encoding/(foreign-json|setting-count|take-text)|lists/(count-values|page)|packages/import-peer|time/(pause|time))\\.ts$',
          '^core/(maintenance/(look-again|temporary-folders)|tools/memory-instructions)\\.ts$',
          '^core/files/paths\\.ts$',
          // Rules of texts and ids that core and plugins hold alike.
          '^core/(access/spaces|ids/id-time|describe-error|files/(content|dream-exclusion|line-ends|links)|telemetry/shown-lines)\\.ts$',
          // The engine of edits, which dreaming is a caller of.
          '^core/edits/',
          // What memory stores are made of: files of spaces, by their lineages.
          '^core/(files/(lineage|space-files)|ids/ids|tools/run-space-call)\\.ts$',
          // What routes of settings take as If-Match.
          '^core/http/precondition\\.ts$',
          // Which tools a key is for, and for whom.
          '^core/access/key-rules\\.ts$',
          '^core/(encoding/json-reply|network/proxy|providers/(circuit-breaker|embedding-models|provider-failure))\\.ts$',
          '^core/config/(base-url|error|option)\\.ts$',
          '^plugins/$1/',
          '^core/plugin\\.ts$',
          '^plugins/provider-http/',
        ],
      },
    },
    {
      name: 'the-stores-are-behind-their-contract',
      comment: 'The domain sees `Storage`; what opens a database, or checks one, sees more.',
      severity: 'error',
      from: {
        path: '^core/',
        pathNot: '^core/(storage|testing|config|cli)/|^core/(service/|(service|plugin)\\.ts$)',
      },
      to: { path: '^core/storage/' },
    },
    {
      name: 'a-database-sees-what-an-outside-one-sees',
      comment: 'Of core, `memory-service/plugin` alone, so that anybody can write a database.',
      severity: 'error',
      from: { path: '^plugins/storage-' },
      to: { path: '^core/', pathNot: '^core/plugin\\.ts$' },
    },
    {
      name: 'provider-http-serves-providers-alone',
      severity: 'error',
      from: { path: '^plugins/', pathNot: '^plugins/(model|embedder|provider)-' },
      to: { path: '^(plugins/provider-http/|core/config/base-url\\.ts$)' },
    },
    {
      name: 'adapters-see-contracts',
      severity: 'error',
      from: { path: '^adapters/' },
      to: {
        path: '^(core|plugins|console|examples|test)/',
        pathNot: [
          '^core/contracts/',
          '^core/errors\\.ts$',
          '^core/(encoding/(foreign-json|take-text)|packages/import-peer|tools/memory-instructions)\\.ts$',
          '^core/edits/prompt-text\\.ts$',
          '^core/files/(line-ends|paths|replace-text)\\.ts$',
          '^core/schemas/(strict-schema|tool-prefix)\\.ts$',
        ],
      },
    },
    {
      name: 'only-declared-packages',
      severity: 'error',
      // The build's own step, which is not published.
      from: { path: '^(core|plugins|adapters)/', pathNot: '^core/build/bundle\\.mjs$' },
      to: {
        dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'],
        dependencyTypesNot: ['type-only', 'npm-peer'],
      },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default', 'types'],
    },
  },
};
