// What the app's own page calls in the browser.

// #region find
/**
 * The browser sends the session's cookie along. There is no user to name, and no key to hide.
 *
 * @param {string} query
 */
export async function find(query) {
  const response = await fetch('/memory/v1/tools/memory_find/execute', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ arguments: { query } }),
  });
  const answer = /** @type {any} */ (await response.json());
  if (!response.ok) throw new Error(answer.error.message);
  return answer.result.results;
}
// #endregion
