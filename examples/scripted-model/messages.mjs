// Anthropic's Messages API. https://docs.anthropic.com/en/api/messages

/** @type {import('./server.mjs').Api} */
export const messages = {
  path: '/v1/messages',
  toAnswers: (body) =>
    body.messages
      .filter((/** @type {any} */ one) => one.role === 'user' && Array.isArray(one.content))
      .flatMap((/** @type {any} */ { content }) => content)
      .filter((/** @type {any} */ block) => block.type === 'tool_result')
      .map((/** @type {any} */ block) => ({
        callId: block.tool_use_id,
        text: toText(block.content ?? ''),
        isError: block.is_error === true,
      })),
  toReply(turn, callIds, { model }) {
    const content =
      'text' in turn
        ? [{ type: 'text', text: turn.text, citations: null }]
        : turn.calls.map(({ name, arguments: input }, index) => ({
            type: 'tool_use',
            id: callIds[index],
            name,
            input,
          }));
    return {
      id: `msg_${callIds[0] ?? 'end'}`,
      type: 'message',
      role: 'assistant',
      model,
      content,
      stop_reason: toStopReason(turn),
      stop_sequence: null,
      usage: {
        input_tokens: 1,
        output_tokens: 1,
        cache_creation_input_tokens: 0,
        cache_read_input_tokens: 0,
      },
    };
  },
  *toStream({ content, stop_reason, stop_sequence, usage, ...message }) {
    const event = (/** @type {string} */ type, /** @type {object} */ fields) => ({
      event: type,
      data: { type, ...fields },
    });
    const begun = { ...message, content: [], stop_reason: null, stop_sequence: null, usage };
    yield event('message_start', { message: begun });
    for (const [index, block] of content.entries()) {
      const isCall = block.type === 'tool_use';
      const empty = isCall ? { ...block, input: {} } : { ...block, text: '' };
      yield event('content_block_start', { index, content_block: empty });
      const isCutOff = stop_reason === 'max_tokens' && index === content.length - 1;
      const delta = isCall
        ? { type: 'input_json_delta', partial_json: toJson(block.input, isCutOff) }
        : { type: 'text_delta', text: block.text };
      yield event('content_block_delta', { index, delta });
      yield event('content_block_stop', { index });
    }
    const { output_tokens } = usage;
    const delta = { stop_reason, stop_sequence };
    yield event('message_delta', { delta, usage: { output_tokens } });
    yield event('message_stop', {});
  },
  toError: (message) => ({ type: 'error', error: { type: 'invalid_request_error', message } }),
};

/** @param {import('./server.mjs').Turn} turn */
function toStopReason(turn) {
  if ('text' in turn) return 'end_turn';
  return turn.isCutOff === true ? 'max_tokens' : 'tool_use';
}

/** @param {object} input @param {boolean} isCutOff */
function toJson(input, isCutOff) {
  const text = JSON.stringify(input);
  return isCutOff ? text.slice(0, -1) : text;
}

/** @param {string | { text?: string }[]} content */
function toText(content) {
  if (typeof content === 'string') return content;
  return content.map(({ text }) => text ?? '').join('');
}
