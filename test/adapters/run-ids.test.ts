import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { toLangChainTools } from '../../adapters/langchain.ts';
import { toOpenAiAgentTools } from '../../adapters/openai-agents.ts';
import { startModelServer } from '../support/model-server/model-server.ts';
import { openService, type ServedService } from './service.ts';

let service: ServedService;
beforeAll(async () => {
  service = await openService();
});
afterAll(() => service.close());

const calls = [{ name: 'memory_list', arguments: {} }];
const options = { userId: 'alice', tools: ['memory_list'] };

async function newestTrace(): Promise<unknown> {
  const [row] = await service.admin('access-logs?action=list&limit=1');
  return row?.['traceId'];
}

it('takes the trace of an OpenAI agent’s run, where it is traced', async () => {
  const agents = await import('@openai/agents');
  const { default: OpenAI } = await import('openai');
  // Nothing is sent to OpenAI.
  agents.setTraceProcessors([]);
  agents.setTracingDisabled(false);
  onTestFinished(() => agents.setTracingDisabled(true));
  const model = await startModelServer([{ calls }]);
  const client = new OpenAI({ apiKey: 'x', baseURL: `${model.url}/v1`, maxRetries: 0 });
  const tools = await toOpenAiAgentTools(service.tools, options);
  const agent = new agents.Agent({
    name: 'Assistant',
    model: new agents.OpenAIResponsesModel(client, 'scripted'),
    tools,
  });
  const traceId = `trace_${'0190b6a0'.repeat(4)}`;
  await agents.withTrace('a test', () => agents.run(agent, 'List.'), { traceId });
  expect(await newestTrace()).toBe('0190b6a0'.repeat(4));
});

it('takes the id that the caller of a LangChain agent gives its run', async () => {
  const { createAgent } = await import('langchain');
  const { ChatOpenAI } = await import('@langchain/openai');
  const { url } = await startModelServer([{ calls }]);
  const configuration = { baseURL: `${url}/v1` };
  const model = new ChatOpenAI({ apiKey: 'x', model: 'scripted', maxRetries: 0, configuration });
  const agent = createAgent({ model, tools: await toLangChainTools(service.tools, options) });
  const run_id = '0190b6a0-1234-7abc-8000-0123456789ab';
  const messages = [{ role: 'user', content: 'List.' }];
  await agent.invoke({ messages }, { configurable: { run_id } });
  expect(await newestTrace()).toBe(run_id.replaceAll('-', ''));
});
