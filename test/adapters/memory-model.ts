import type { ModelProvider } from '../../core/contracts/model-provider.ts';
import { passAll } from '../support/model-service.ts';
import { openai } from '../../plugins/model-openai/index.ts';
import { type ProviderServer, startProviderServer } from '../support/provider-server/server.ts';

/** The model behind `memory_remember` and `memory_context`, which is not the agent's own. */
export interface MemoryModel {
  model: ModelProvider;
  provider: ProviderServer;
}

/** What the profile says, line by line, before anything is remembered. */
export const PROFILE = '# Profile\n\n- Prefers tea.\n';

/**
 * A model on loopback that corrects the profile's third line to coffee, and selects that line for
 * a question, in the words of the provider's API.
 */
export async function startMemoryModel(): Promise<MemoryModel> {
  const provider = await startProviderServer({
    reply: ({ messages }) => JSON.stringify(answerTo((messages as { content: string }[]).at(-1))),
  });
  const { baseUrl } = provider;
  const model = openai({ baseUrl, apiKey: 'of-the-memory', name: 'scripted', maxRetries: 0 });
  return { model, provider };
}

function answerTo({ content: prompt } = { content: '' }): object {
  if (prompt.includes('\n<operation-')) return passAll({ prompt });
  if (prompt.endsWith('Plan the searches.')) return { searches: ['tea'] };
  if (prompt.endsWith('Select the lines.')) {
    const line = /^(\d+)\| \S+ \| .*tea/m.exec(prompt)?.[1];
    return { lines: [{ path: 'user/profile.md', line: Number(line) }] };
  }
  const path = 'user/profile.md';
  const remove = [{ path, line: 3, text: '- Prefers tea.' }];
  const add = { path, heading: null, lines: ['- Prefers coffee.'] };
  return { operations: [{ kind: 'update', reason: '', remove, add, sources: [] }] };
}
