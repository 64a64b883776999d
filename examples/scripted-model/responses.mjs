// OpenAI's Responses API. https://platform.openai.com/docs/api-reference/responses

import { toArgumentTexts } from './argument-texts.mjs';

/** @type {import('./server.mjs').Api} */
export const responses = {
  path: '/v1/responses',
  toAnswers: ({ input }) =>
    (typeof input === 'string' ? [] : input)
      .filter((/** @type {any} */ item) => item.type === 'function_call_output')
      .map((/** @type {any} */ item) => ({
        callId: item.call_id,
        text: toText(item.output),
        isError: null,
      })),
  toReply(turn, callIds, { model, previous_response_id }) {
    const id = callIds[0] ?? 'end';
    const isCutOff = 'calls' in turn && turn.isCutOff === true;
    const texts = toArgumentTexts(turn);
    const output =
      'text' in turn
        ? [toMessage(turn.text)]
        : turn.calls.map(({ name }, index) => ({
            type: 'function_call',
            id: `fc_${callIds[index]}`,
            call_id: callIds[index],
            name,
            arguments: texts[index],
            status: isCutOff && index === texts.length - 1 ? 'incomplete' : 'completed',
          }));
    return {
      id: `resp_${id}`,
      object: 'response',
      created_at: 1_767_225_600,
      status: isCutOff ? 'incomplete' : 'completed',
      error: null,
      incomplete_details: isCutOff ? { reason: 'max_output_tokens' } : null,
      instructions: null,
      metadata: {},
      model,
      output,
      parallel_tool_calls: true,
      previous_response_id: previous_response_id ?? null,
      temperature: 1,
      tool_choice: 'auto',
      tools: [],
      top_p: 1,
      usage: {
        input_tokens: 1,
        input_tokens_details: { cached_tokens: 0 },
        output_tokens: 1,
        output_tokens_details: { reasoning_tokens: 0 },
        total_tokens: 2,
      },
    };
  },
  *toStream(response) {
    let sequence_number = 0;
    const event = (/** @type {string} */ type, /** @type {object} */ fields) => ({
      event: type,
      data: { type, sequence_number: sequence_number++, ...fields },
    });
    const begun = { ...response, status: 'in_progress', output: [], usage: null };
    yield event('response.created', { response: begun });
    yield event('response.in_progress', { response: begun });
    for (const [output_index, item] of response.output.entries()) {
      const place = { output_index, item_id: item.id };
      const isCall = item.type === 'function_call';
      const empty = isCall ? { arguments: '' } : { content: [] };
      const added = { ...item, status: 'in_progress', ...empty };
      yield event('response.output_item.added', { output_index, item: added });
      if (isCall) {
        const { arguments: text, name } = item;
        yield event('response.function_call_arguments.delta', { ...place, delta: text });
        yield event('response.function_call_arguments.done', { ...place, name, arguments: text });
      } else {
        const [part] = item.content;
        const inPart = { ...place, content_index: 0 };
        const { text, logprobs } = part;
        yield event('response.content_part.added', { ...inPart, part: { ...part, text: '' } });
        yield event('response.output_text.delta', { ...inPart, delta: text, logprobs });
        yield event('response.output_text.done', { ...inPart, text, logprobs });
        yield event('response.content_part.done', { ...inPart, part });
      }
      yield event('response.output_item.done', { output_index, item });
    }
    yield event(`response.${response.status}`, { response });
  },
  toError: (message) => ({
    error: { message, type: 'invalid_request_error', param: null, code: null },
  }),
};

/** @param {string} text */
function toMessage(text) {
  const content = [{ type: 'output_text', text, annotations: [], logprobs: [] }];
  return { type: 'message', id: 'msg_end', role: 'assistant', status: 'completed', content };
}

/** @param {string | { text?: string }[]} output */
function toText(output) {
  if (typeof output === 'string') return output;
  return output.map(({ text }) => text ?? '').join('');
}
