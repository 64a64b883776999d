// OpenAI's Chat Completions API. https://platform.openai.com/docs/api-reference/chat

import { randomUUID } from 'node:crypto';
import { toArgumentTexts } from './argument-texts.mjs';

/** @type {import('./server.mjs').Api} */
export const chatCompletions = {
  path: '/v1/chat/completions',
  toAnswers: (body) =>
    body.messages
      .filter((/** @type {any} */ message) => message.role === 'tool')
      .map((/** @type {any} */ message) => ({
        callId: message.tool_call_id,
        text: toText(message.content),
        isError: null,
      })),
  toReply(turn, callIds, { model }) {
    const calls = 'calls' in turn ? turn.calls : [];
    const message = {
      role: 'assistant',
      content: 'text' in turn ? turn.text : null,
      refusal: null,
      ...(calls.length === 0 ? {} : { tool_calls: calls.map(toCall) }),
    };
    /** @param {{ name: string }} call @param {number} index */
    function toCall({ name }, index) {
      const text = toArgumentTexts(turn)[index];
      return { id: callIds[index], type: 'function', function: { name, arguments: text } };
    }
    return {
      // Agents keep one message of an id.
      id: `chatcmpl-${randomUUID()}`,
      object: 'chat.completion',
      created: 1_767_225_600,
      model,
      choices: [
        {
          index: 0,
          message,
          logprobs: null,
          finish_reason: toFinishReason(turn),
        },
      ],
      usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
    };
  },
  *toStream({ id, created, model, choices: [{ message, finish_reason }], usage }) {
    const chunk = (/** @type {object} */ delta, /** @type {string | null} */ reason = null) => ({
      data: {
        id,
        object: 'chat.completion.chunk',
        created,
        model,
        choices: [{ index: 0, delta, logprobs: null, finish_reason: reason }],
      },
    });
    yield chunk({ role: 'assistant', content: null });
    if (message.content !== null) yield chunk({ content: message.content });
    for (const [index, call] of (message.tool_calls ?? []).entries()) {
      const { name, arguments: text } = call.function;
      const half = Math.ceil(text.length / 2);
      const first = { name, arguments: text.slice(0, half) };
      yield chunk({ tool_calls: [{ ...call, index, function: first }] });
      yield chunk({ tool_calls: [{ index, function: { arguments: text.slice(half) } }] });
    }
    yield chunk({}, finish_reason);
    yield { data: { id, object: 'chat.completion.chunk', created, model, choices: [], usage } };
    yield { data: '[DONE]' };
  },
  toError: (message) => ({
    error: { message, type: 'invalid_request_error', param: null, code: null },
  }),
};

/** @param {import('./server.mjs').Turn} turn */
function toFinishReason(turn) {
  if ('text' in turn) return 'stop';
  return turn.isCutOff === true ? 'length' : 'tool_calls';
}

/** @param {string | { text?: string }[]} content */
function toText(content) {
  if (typeof content === 'string') return content;
  return content.map(({ text }) => text ?? '').join('');
}
