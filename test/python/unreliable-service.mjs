// A way to the service on which each write needs three attempts: the first is carried out, but its answer is lost,
// and the second is refused with 503. A client that sends another idempotency key at each attempt writes twice.

import { createServer } from 'node:http';

/**
 * @param {string} target address of the service
 * @returns {Promise<{ url: string, close: () => void }>}
 */
export async function startUnreliable(target) {
  /** @type {Map<string, number>} */
  const attempts = new Map();
  const server = createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const key = String(request.headers['idempotency-key'] ?? '');
    const attempt = (attempts.get(key) ?? 0) + 1;
    attempts.set(key, attempt);
    if (key !== '' && attempt === 2) {
      const error = { code: 'STORAGE_UNAVAILABLE', message: 'Not now.', retryable: true };
      response.writeHead(503, { 'content-type': 'application/json', 'retry-after': '0' });
      response.end(JSON.stringify({ error }));
      return;
    }
    const answer = await fetch(target + request.url, {
      method: request.method ?? 'GET',
      headers: {
        authorization: request.headers.authorization ?? '',
        'content-type': 'application/json',
        'idempotency-key': key,
      },
      ...(request.method === 'POST' ? { body: Buffer.concat(chunks) } : {}),
    });
    const body = await answer.text();
    if (key !== '' && attempt === 1) {
      request.socket.destroy();
      return;
    }
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(body);
  });
  await new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve(undefined));
  });
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  return {
    url: `http://127.0.0.1:${port}`,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
