import type { ChatCompletionMessageParam as ChatMessage } from 'openai/resources/chat/completions';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ConversationMessage, rememberConversation } from '../../adapters/client.ts';
import { openService, type ServedService } from './service.ts';
import { type MemoryModel, PROFILE, startMemoryModel } from './memory-model.ts';

let memoryModel: MemoryModel;
let service: ServedService;
beforeAll(async () => {
  memoryModel = await startMemoryModel();
  service = await openService({ model: memoryModel.model });
});
afterAll(async () => {
  await service.close();
  await memoryModel.provider.close();
});

/** As OpenAI's API has it: what calls a tool says nothing. */
const LOOKED_UP: ChatMessage[] = [
  {
    role: 'assistant',
    content: null,
    tool_calls: [
      { id: 'call_1', type: 'function', function: { name: 'find_bats', arguments: '{}' } },
    ],
  },
  { role: 'tool', tool_call_id: 'call_1', content: 'A bat of willow.' },
];
const CONVERSATION: ConversationMessage[] = [
  { role: 'system', content: 'You sell cricket bats.' },
  { role: 'user', content: [{ type: 'text', text: 'The user now prefers coffee.' }] },
  ...LOOKED_UP,
  { role: 'assistant', content: 'Noted. Do you play cricket?' },
  { role: 'user', content: ' ' },
  { role: 'user', content: 'I drink coffee daily.', name: 'Ana', at: '2026-01-05T10:00:00Z' },
];

let users = 0;
async function newUser(): Promise<string> {
  const userId = `told-${(users += 1)}`;
  const file = { path: 'user/profile.md', content: PROFILE };
  await service.tools.execute('memory_write', { context: { userId }, arguments: file });
  return userId;
}

describe.each([
  ['the client', () => service.client()],
  ['the tools in process', () => service.tools],
])('a conversation through %s', (_name, runnerOf) => {
  it('is filed message by message, as the user who is named', async () => {
    const userId = await newUser();
    const options = { userId, actor: 'chat', timeZone: 'Europe/Brussels' };
    const seen = memoryModel.provider.received.length;
    const remembered = await rememberConversation(runnerOf(), CONVERSATION, options);
    expect(remembered.map(({ message }) => message)).toEqual([1, 6]);
    expect(remembered[0]?.result.writes).toMatchObject([{ path: 'user/profile.md', version: 2 }]);
    // What the model finds no place for is kept in the inbox.
    expect(remembered[1]?.result).toMatchObject({
      filed: 'inbox',
      writes: [{ path: 'user/inbox.md' }],
    });
    expect(await service.admin(`revisions?userId=${userId}&actor=chat`)).toHaveLength(2);
    const prompts = JSON.stringify(
      memoryModel.provider.received.slice(seen).map(({ body }) => body),
    );
    expect(prompts).toContain('I drink coffee daily.');
    expect(prompts).toMatch(/It was said by [\\"]+Ana/);
    expect(prompts).toContain('2026-01-05');
    // What the assistant said is the context of the user's next message; the rest is left out.
    expect(prompts).toMatch(/<context-\w+>\\+nNoted. Do you play cricket\?\\+n<\/context-/);
    expect(prompts.match(/You sell|willow/)).toBeNull();
  });

  it('is filed once when it is given again with the same key', async () => {
    const options = { userId: await newUser(), idempotencyKey: `conversation-${users}` };
    const first = await rememberConversation(runnerOf(), CONVERSATION, options);
    const asked = memoryModel.provider.received.length;
    const again = await rememberConversation(runnerOf(), CONVERSATION, options);
    expect(again.map(({ result }) => result.writes.map(({ revisionId }) => revisionId))).toEqual(
      first.map(({ result }) => result.writes.map(({ revisionId }) => revisionId)),
    );
    expect(memoryModel.provider.received).toHaveLength(asked);
  });

  it('is refused before anything of it is filed when a message is too long', async () => {
    const userId = await newUser();
    const long = { role: 'user', content: 'é'.repeat(16_385) };
    const asked = memoryModel.provider.received.length;
    const refused = rememberConversation(runnerOf(), [...CONVERSATION, long], { userId });
    await expect(refused).rejects.toMatchObject({
      code: 'INVALID_REQUEST',
      details: { issues: [{ path: '/messages/7/content' }] },
    });
    expect(memoryModel.provider.received).toHaveLength(asked);
    const longest = { role: 'user', content: '🫖'.repeat(16_384) };
    expect(await rememberConversation(runnerOf(), [longest], { userId })).toHaveLength(1);
  });

  it('goes along with the end of a long answer, to the next message of the user alone', async () => {
    const userId = await newUser();
    const messages = [
      { role: 'assistant', content: `First words.${'🫖'.repeat(16_400)}Last words.` },
      { role: 'user', content: 'Yes, that one.' },
      { role: 'user', content: 'And I like rain.' },
    ];
    const seen = memoryModel.provider.received.length;
    expect(await rememberConversation(runnerOf(), messages, { userId })).toHaveLength(2);
    const asked = memoryModel.provider.received.slice(seen).map(({ body }) => JSON.stringify(body));
    const [first, second] = ['Yes, that one.', 'And I like rain.'].map((text) =>
      asked.filter((body) => body.includes(text)).join('\n'),
    );
    expect(first).toContain('🫖Last words.');
    expect(first).not.toContain('First words.');
    expect(second).not.toMatch(/^$|Last words\./);
  });

  it('of nothing that a user said asks no model', async () => {
    const messages = CONVERSATION.filter(({ role }) => role !== 'user');
    const asked = memoryModel.provider.received.length;
    expect(await rememberConversation(runnerOf(), messages, { userId: 'alice' })).toEqual([]);
    expect(memoryModel.provider.received).toHaveLength(asked);
  });
});

it('memory.remember refuses a user who is none, and a service without a model says what to set', async () => {
  const messages = [{ role: 'user', content: 'I moved to Ghent.' }];
  const bad = service.client().remember(messages, { userId: '../bob' });
  await expect(bad).rejects.toMatchObject({ code: 'INVALID_USER_ID' });
  const without = await openService();
  const unfiled = without.client().remember(messages, { userId: 'alice' });
  await expect(unfiled).rejects.toThrow(/SERVICE_MODEL_PROVIDER/);
  await without.close();
});
