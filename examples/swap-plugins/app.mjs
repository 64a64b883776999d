// One app that works with any database and model that the configuration names.
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
const { result: remembered } = await memory.tools.execute('memory_remember', {
  context,
  arguments: { text: 'The user drinks tea.', reason: 'The user said so.' },
});
console.log(remembered.summary);
for (const { path, version, diff } of remembered.writes) {
  console.log(`${path}, version ${version}:\n${diff.trimEnd()}`);
}
const { result: answer } = await memory.tools.execute('memory_context', {
  context,
  arguments: { query: 'What does the user drink?' },
});
console.log(`answered by ${answer.mode}:\n${answer.context.trimEnd()}`);
await memory.close();
