/**
 * The arguments of a turn's calls as JSON. The last ones of a turn that is cut off lack their end.
 *
 * @param {import('./server.mjs').Turn} turn
 * @returns {string[]}
 */
export function toArgumentTexts(turn) {
  if ('text' in turn) return [];
  const texts = turn.calls.map(({ arguments: args }) =>
    typeof args === 'string' ? args : JSON.stringify(args),
  );
  if (turn.isCutOff !== true) return texts;
  return texts.map((text, index) => (index === texts.length - 1 ? text.slice(0, -1) : text));
}
