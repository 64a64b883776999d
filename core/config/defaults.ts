import type { MemoryServiceConfig, Settings } from '../contracts/config.ts';

/** The defaults of everything that has one. `core/config/index.ts` and the docs take them from here. */
export const DEFAULT_SETTINGS: Settings = {
  apiKeys: [],
  adminSecret: null,
  basePath: '',
  allowedHosts: null,
  trustProxy: false,
  docsPath: null,
  limits: { maxFileBytes: 262_144, maxBodyBytes: 1_048_576, maxFilesPerUser: 5_000 },
  sharedWrites: false,
  rateLimit: 0,
  tools: { delete: false, move: false },
  search: { textWeight: 1, vectorWeight: 0.5, embedTimeoutMs: 1_000 },
  sla: { p95Ms: 250, errorRate: 0.01, slowCallMs: 1_000 },
  retention: { eventsDays: 30, accessLogDays: 0, revisionsDays: 0, dreamsDays: 90 },
  dream: { enabled: false },
};

/** A configuration with every default filled in. Blank secrets are absent ones. */
export function toSettings(config: MemoryServiceConfig): Settings {
  const defaults = DEFAULT_SETTINGS;
  const keys = typeof config.apiKey === 'string' ? config.apiKey.split(',') : (config.apiKey ?? []);
  const adminSecret = config.adminSecret?.trim() ?? '';
  return {
    apiKeys: keys.map((key) => key.trim()).filter((key) => key !== ''),
    adminSecret: adminSecret === '' ? null : adminSecret,
    basePath: config.basePath ?? defaults.basePath,
    allowedHosts: config.allowedHosts ?? defaults.allowedHosts,
    trustProxy: config.trustProxy ?? defaults.trustProxy,
    docsPath: config.docsPath ?? defaults.docsPath,
    limits: { ...defaults.limits, ...config.limits },
    sharedWrites: config.sharedWrites ?? defaults.sharedWrites,
    rateLimit: config.rateLimit ?? defaults.rateLimit,
    tools: { ...defaults.tools, ...config.tools },
    search: { ...defaults.search, ...config.search },
    sla: { ...defaults.sla, ...config.sla },
    retention: { ...defaults.retention, ...config.retention },
    dream: { ...defaults.dream, ...config.dream },
  };
}
