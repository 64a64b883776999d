import { join } from 'node:path';
import type { RouteDefinition } from '../contracts/route.ts';
import type { Core } from '../service.ts';
import { readConsoleFiles } from './console-files.ts';
import { readDocs } from './docs.ts';
import { createOpenApi } from './openapi.ts';
import { findPackageRoot } from '../packages/package-root.ts';
import { accessLogsRoutes } from './routes/access-logs.ts';
import { auditRoutes } from './routes/audit.ts';
import { backupRoutes } from './routes/backup.ts';
import { modelExamRoutes } from './routes/model-exam.ts';
import { vacuumRoutes } from './routes/vacuum.ts';
import { checksRoutes } from './routes/checks.ts';
import { configurationRoutes } from './routes/configuration.ts';
import { consoleRoutes } from './routes/console.ts';
import { docsRoutes } from './routes/docs.ts';
import { exportRoutes } from './routes/export.ts';
import { contentSearchRoutes } from './routes/content-search.ts';
import { filesRoutes } from './routes/files.ts';
import { healthRoutes } from './routes/health.ts';
import { importRoutes } from './routes/import.ts';
import { keysRoutes } from './routes/keys.ts';
import { metricsRoutes } from './routes/metrics.ts';
import { observabilityRoutes } from './routes/observability.ts';
import { operatorsRoutes } from './routes/operators.ts';
import { playgroundRoutes } from './routes/playground.ts';
import { reembedRoutes } from './routes/reembed.ts';
import { reindexRoutes } from './routes/reindex.ts';
import { retentionRoutes } from './routes/retention.ts';
import { redactionRoutes } from './routes/redactions.ts';
import { revertRoutes } from './routes/reverts.ts';
import { revisionsRoutes } from './routes/revisions.ts';
import { freezesRoutes } from './routes/freezes.ts';
import { spacesRoutes } from './routes/spaces.ts';
import { statusRoutes } from './routes/status.ts';
import { toolsRoutes } from './routes/tools.ts';
import { tracesRoutes } from './routes/traces.ts';
import { restoreRoutes } from './routes/restores.ts';
import { usersRoutes } from './routes/users.ts';
import { verifyRoutes } from './routes/verify.ts';
import { whyNotRoutes } from './routes/why-not.ts';

/**
 * All routes of the service itself. Reads the docs and the console once, so later changes on disk
 * need a restart.
 */
export function serviceRoutes(core: Core): RouteDefinition[] {
  const { settings } = core;
  const root = findPackageRoot();
  const docs = readDocs(settings.docsPath ?? join(root.directory, 'docs'), settings.basePath);
  const consoleFiles = readConsoleFiles(join(root.directory, 'dist/console'));
  const allRoutes = () => [...routes, ...core.pluginRoutes];
  const openApi = createOpenApi({
    version: root.version,
    basePath: settings.basePath,
    routes: allRoutes,
    tools: () => core.tools.definitions,
  });
  const routes: RouteDefinition[] = [
    ...toolsRoutes(core),
    ...statusRoutes(core, root.version),
    ...configurationRoutes(core),
    ...reembedRoutes(core),
    ...reindexRoutes(core),
    ...verifyRoutes(core),
    ...checksRoutes(core),
    ...backupRoutes(core),
    ...vacuumRoutes(core),
    ...modelExamRoutes(core),
    ...retentionRoutes(core),
    ...usersRoutes(core),
    ...restoreRoutes(core),
    ...spacesRoutes(core),
    ...freezesRoutes(core),
    ...keysRoutes(core),
    ...operatorsRoutes(core, { routes: allRoutes }),
    ...filesRoutes(core),
    ...contentSearchRoutes(core),
    ...revisionsRoutes(core),
    ...revertRoutes(core),
    ...redactionRoutes(core),
    ...exportRoutes(core),
    ...importRoutes(core),
    ...accessLogsRoutes(core),
    ...auditRoutes(core),
    ...observabilityRoutes(core),
    ...tracesRoutes(core),
    ...metricsRoutes(core),
    ...playgroundRoutes(core),
    ...whyNotRoutes(core),
    ...docsRoutes(docs, openApi),
    ...healthRoutes(core),
    ...consoleRoutes(consoleFiles, settings.basePath),
  ];
  return routes;
}
