// One app, and whatever database and model the configuration names: no line of it changes.
//
//   node examples/swap-plugins/app.mjs --config examples/swap-plugins/sqlite.config.json
//   node examples/swap-plugins/app.mjs --config examples/swap-plugins/mysql.config.json

// #region open
import { createMemoryService } from 'memory-service';
import { loadConfig, openConfig } from 'memory-service/config';

const { argv, env } = process;
const loaded = await loadConfig({ argv: argv.slice(2), env, cwd: process.cwd() });
const { service: config, database } = await openConfig(loaded);
const memory = createMemoryService(config);
// #endregion
console.log(`database: ${database.name}, model: ${config.model?.model ?? 'none'}`);

const context = { userId: 'alice', actor: 'notes-app' };
const { result: written } = await memory.tools.execute('memory_write', {
  context,
  arguments: { path: 'user/profile.md', content: '# Profile\n\n- Prefers tea.\n' },
});
const { result: found } = await memory.tools.execute('memory_find', {
  context,
  arguments: { query: 'coffee or tea?' },
});
console.log(`${written.path}, version ${written.version}: ${found.results[0]?.snippet.trim()}`);
await memory.close();
