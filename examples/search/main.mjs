// The results of a search, and the parts of each score.
//
//   node examples/search/main.mjs

// #region open
import { createMemoryService } from 'memory-service';
import { sqlite } from 'memory-service/plugins/storage-sqlite';

const service = createMemoryService({ storage: sqlite({ filename: ':memory:' }) });
// #endregion

/**
 * @param {string} name
 * @param {object} args
 * @returns {Promise<any>}
 */
async function callTool(name, args) {
  const context = { userId: 'ann' };
  return (await service.tools.execute(name, { context, arguments: args })).result;
}

// #region write
const FILES = {
  'user/profile.md': '# Ann\n\n## Drinks\n\n- Prefers green tea.\n- No coffee after noon.\n',
  'user/trips/kyoto.md':
    '# Kyoto\n\nDrank matcha, a green tea, by the river.\n\n東京にも行った。\n',
  'user/work.md': '# Work\n\n- Ships the multi-agent search.\n- Tea at four.\n',
};
for (const [path, content] of Object.entries(FILES)) {
  await callTool('memory_write', { path, content });
}
// #endregion

// #region explain
const { results } = await callTool('memory_find', {
  query: 'Which green tea does she prefer?',
  explain: true,
});
// #endregion
for (const { path, startLine, score, signals } of results) {
  console.log(`${path}, line ${startLine}: ${score.toFixed(2)}`);
  for (const [name, value] of Object.entries(signals)) {
    console.log(`  ${name.padEnd(13)}${Number(value).toFixed(2)}`);
  }
}

// #region languages
const QUESTIONS = ['multiagent', '東京', 'gren tee'];
for (const query of QUESTIONS) {
  const found = await callTool('memory_find', { query, limit: 1 });
  console.log(`${query}: ${found.results[0]?.path ?? 'nothing'}`);
}
// #endregion

// #region context
const { context } = await callTool('memory_context', { query: 'green tea', maxChars: 400 });
// #endregion
console.log(`\n${context}`);

await service.close();
