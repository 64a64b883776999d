// Called by the app's own page in the browser.

// #region find
/**
 * The browser sends the session's cookie. The page names no user and needs no key.
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
