import { expect, it, onTestFinished } from 'vitest';
import type { ToolCall } from '../../../core/contracts/tool.ts';
import { promptText } from '../../../core/edits/prompt-text.ts';
import { createModel } from '../../../core/subagents/model.ts';
import { guardModel } from '../../../core/subagents/guarded-model.ts';
import { anthropic } from '../../../plugins/model-anthropic/index.ts';
import { openai } from '../../../plugins/model-openai/index.ts';
import { startProviderServer } from '../../support/provider-server/server.ts';
import { rejection } from '../../support/rejection.ts';

const call = {
  trace: { start: () => ({ end: () => undefined, fail: () => undefined }) },
} as unknown as ToolCall;

it.each(['openai', 'anthropic'])(
  'is named with its last answer when the time of a call ends during a retry (%s)',
  async (name) => {
    const server = await startProviderServer();
    onTestFinished(() => server.close());
    const { baseUrl, origin } = server;
    const options = { apiKey: 'test', name: 'scripted' };
    const provider =
      name === 'openai'
        ? openai({ ...options, baseUrl })
        : anthropic({ ...options, baseUrl: origin });
    // The retry is never answered.
    let asked = 0;
    server.always(({ sendJson }) => {
      if ((asked += 1) === 1) sendJson(500, {});
    });
    const question = { system: promptText`You file facts.`, prompt: promptText`Anna prefers tea.` };
    const answer = createModel(guardModel(provider)).ask(question, { call, timeoutMs: 3_000 });
    expect(await rejection(answer)).toMatchObject({
      code: 'MODEL_FAILED',
      details: { reason: 'unavailable', providerStatus: 500 },
    });
    expect(asked).toBe(2);
  },
);
