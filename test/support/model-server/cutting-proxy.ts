import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as readText } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';

/** A proxy before a model that breaks off each answer where it comes to that text. Closed when the test ends. */
export async function startCutting(target: string, { at }: { at: string }): Promise<string> {
  const server = createServer((request, response) => {
    void (async () => {
      const { host: _host, connection: _connection, ...headers } = request.headers;
      const body = await readText(request);
      const init = { method: 'POST', headers: headers as Record<string, string>, body };
      const answer = await fetch(target + (request.url ?? ''), init);
      const text = await answer.text();
      const type = answer.headers.get('content-type') ?? '';
      const end = text.indexOf(at);
      response.writeHead(answer.status, { 'content-type': type });
      if (end < 0) response.end(text);
      else response.write(text.slice(0, end + at.length / 2), () => response.destroy());
    })();
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
