// The service as a memory store of the official client: SERVICE_MEMORY_STORES=true.
import Anthropic from '@anthropic-ai/sdk';

// #region stores
const client = new Anthropic({
  baseURL: process.env.SERVICE_URL ?? 'http://127.0.0.1:8787',
  apiKey: process.env.SERVICE_API_KEY,
});

const { memoryStores } = client.beta;
const store = await memoryStores.create({ name: 'Team notes' });
const note = await memoryStores.memories.create(store.id, {
  path: '/projects/launch.md',
  content: '- Launch on 3 March\n',
});
await memoryStores.memories.update(note.id, {
  memory_store_id: store.id,
  content: '- Launch on 10 March\n',
  precondition: { type: 'content_sha256', content_sha256: note.content_sha256 },
});
// #endregion

for await (const version of memoryStores.memoryVersions.list(store.id, { view: 'full' })) {
  console.log(version.operation, version.path, JSON.stringify(version.content));
}
