import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { PostTransport } from '../../../plugins/mcp/post-transport.ts';

const request = (id: number): JSONRPCMessage => ({ jsonrpc: '2.0', id, method: 'tools/call' });
const answer = (id: number): JSONRPCMessage => ({ jsonrpc: '2.0', id, result: {} });
const NOTIFICATION: JSONRPCMessage = { jsonrpc: '2.0', method: 'notifications/initialized' };

/** A server that keeps what it was asked until `answerAll`. */
function makeServer() {
  const transport = new PostTransport();
  const asked: JSONRPCMessage[] = [];
  transport.onmessage = (message) => void asked.push(message);
  const answered = new Set<number>();
  return {
    transport,
    asked,
    /** Answers whatever is asked until nothing more comes; the most that were open at once. */
    async answerAll(): Promise<number> {
      let most = 0;
      for (;;) {
        const ids = asked.flatMap((message) =>
          'id' in message && !answered.has(Number(message.id)) ? [Number(message.id)] : [],
        );
        most = Math.max(most, new Set(ids).size);
        if (ids.length === 0) return most;
        for (const id of new Set(ids)) {
          answered.add(id);
          await transport.send(answer(id));
        }
        await nextTurn();
        await nextTurn();
      }
    },
  };
}

describe('the messages of one POST', () => {
  it('are worked on four at a time, and all get their answer', async () => {
    const { transport, answerAll } = makeServer();
    const ids = Array.from({ length: 30 }, (_, n) => n);
    const delivered = transport.deliver([...ids.map(request), NOTIFICATION]);
    expect(await answerAll()).toBe(4);
    expect(await delivered).toEqual(ids.map(answer));
  });

  it('are not begun once they were cancelled', async () => {
    const { transport, asked, answerAll } = makeServer();
    const delivered = transport.deliver([1, 2, 3, 4, 5, 6].map(request));
    transport.cancel(6, 'cancelled');
    await answerAll();
    expect(await delivered).toEqual([1, 2, 3, 4, 5].map(answer));
    expect(asked).not.toContainEqual(request(6));
  });

  it('end when none of them wants an answer, or two have the same id', async () => {
    expect(await makeServer().transport.deliver([NOTIFICATION])).toEqual([]);
    const { transport, answerAll } = makeServer();
    const delivered = transport.deliver([1, 2, 3, 4, 5, 1].map(request));
    await answerAll();
    expect(await delivered).toEqual([1, 2, 3, 4, 5].map(answer));
  });
});
