// A search by meaning with an embedder of your own. This one knows a few words, and needs no network.
//
//   node examples/search/hybrid.mjs

import { setTimeout as sleep } from 'node:timers/promises';
import { createMemoryService } from 'memory-service';
import { sqlite } from 'memory-service/plugins/storage-sqlite';

// #region embedder
/** @type {import('memory-service/plugin').Embedder} */
const embedder = {
  name: 'example',
  // Change it with the model: vectors of two models are never compared.
  model: 'meanings-1',
  dimensions: 32,
  // What the model reads of a text; longer passages are embedded in parts.
  maxTokens: 512,
  async embed(texts) {
    return texts.map(toVector);
  },
};

const service = createMemoryService({ storage: sqlite({ filename: ':memory:' }), embedder });
// #endregion

/** Words of one line mean the same. */
const MEANINGS = [
  ['tea', 'coffee', 'beverage', 'drink', 'drinks'],
  ['dog', 'puppy', 'pet'],
];

/** @param {string} text */
function toVector(text) {
  const vector = new Float32Array(32);
  for (const word of text.toLowerCase().match(/\p{L}+/gu) ?? ['']) {
    const meaning = MEANINGS.findIndex((line) => line.includes(word));
    const place = meaning >= 0 ? meaning : 2 + ((word.codePointAt(0) ?? 0) % 30);
    vector[place] = (vector[place] ?? 0) + (meaning >= 0 ? 1 : 0.1);
  }
  return vector;
}

/**
 * @param {string} name
 * @param {object} args
 * @returns {Promise<any>}
 */
async function callTool(name, args) {
  const context = { userId: 'ann' };
  return (await service.tools.execute(name, { context, arguments: args })).result;
}

const FILES = [
  { path: 'user/profile.md', content: '# Ann\n\nShe prefers green tea.\n' },
  { path: 'user/home.md', content: 'The puppy sleeps while she works.\n' },
  { path: 'user/work.md', content: 'She ships a search.\n' },
];
for (const file of FILES) await callTool('memory_write', file);

// #region find
const query = { query: 'Which beverage does she like?', explain: true };
let found = await callTool('memory_find', query);
// Passages get their vectors in the background; until then, finds use words only.
while (found.mode !== 'hybrid' || found.results.length < FILES.length) {
  await sleep(50);
  found = await callTool('memory_find', query);
}
// #endregion
for (const { path, score, signals } of found.results) {
  console.log(`${path}: ${score.toFixed(2)}`);
  for (const name of ['similarity', 'zScore', 'textPart', 'vectorPart', 'agreement']) {
    console.log(`  ${name.padEnd(11)}${Number(signals[name]).toFixed(2)}`);
  }
}

await service.close();
