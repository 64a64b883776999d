import Anthropic from '@anthropic-ai/sdk';
import type { CoreConfig } from '../../../core/service.ts';
import { memoryStores } from '../../../plugins/memory-stores/index.ts';
import { ADMIN_SECRET, API_KEY, serveCore } from '../../core/http/serve.ts';

/** A service with memory stores, and the official client pointed at it. */
export async function serveStores(config: Partial<CoreConfig> = {}) {
  const server = await serveCore({ plugins: [memoryStores()], memoryStores: true, ...config });
  const clientOf = (apiKey: string) =>
    new Anthropic({ apiKey, baseURL: `http://127.0.0.1:${server.port}`, maxRetries: 0 });

  /** A client with a named key. */
  async function withKey(rules: object, name = 'robot') {
    const headers = { 'x-admin-secret': ADMIN_SECRET };
    const made = await server.request('POST', '/v1/admin/keys', {
      headers,
      body: { name, ...rules },
    });
    return { id: String(made.json.id), client: clientOf(String(made.json.key)) };
  }
  return { ...server, client: clientOf(API_KEY), clientOf, withKey };
}

/** Everything that an SDK's list gives, page after page. */
export async function all<Item>(list: AsyncIterable<Item>): Promise<Item[]> {
  const items: Item[] = [];
  for await (const item of list) items.push(item);
  return items;
}

/** The status and the error body of a call that is refused. */
export async function refusal(call: Promise<unknown>) {
  try {
    await call;
  } catch (error) {
    if (!(error instanceof Anthropic.APIError)) throw error;
    const body = error.error as { type: string; error: Record<string, string>; request_id: string };
    return { status: error.status as number, ...body.error, requestId: body.request_id };
  }
  throw new Error('The call was not refused.');
}
