import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';

/** Where vectors are kept from run to run; not under version control. */
const DIRECTORY = path.resolve(import.meta.dirname, '../.cache');
/** Texts of one request to the embedder. */
const BATCH = 64;
const PROBE = 'She likes tea.';

/** A server in front of an embedder that asks it for each text once, in this run and later ones. */
export interface KeptVectors {
  baseUrl: string;
  dimensions: number;
  /** Stops the server, and keeps what it was given. */
  close(): Promise<void>;
}

interface Request {
  input: string[];
  model: string;
}

interface Answer {
  data: { index: number; embedding: number[] }[];
}

/** Starts it before the embedder at `url`, the base URL of an OpenAI-compatible API. */
export async function keepVectors(url: string, model: string): Promise<KeptVectors> {
  const probe = await ask(url, { model, input: [PROBE] });
  const [vector = []] = probe;
  // Another model under the same address and name has a file of its own.
  const file = path.join(DIRECTORY, `vectors-${hash(JSON.stringify([model, vector]))}.json`);
  const kept = new Map<string, string>(
    existsSync(file)
      ? Object.entries(JSON.parse(readFileSync(file, 'utf8')) as Record<string, string>)
      : [],
  );
  const write = (): void => {
    mkdirSync(DIRECTORY, { recursive: true });
    writeFileSync(file, JSON.stringify(Object.fromEntries(kept)));
  };

  async function embed(texts: readonly string[]): Promise<number[][]> {
    const missing = [...new Set(texts)].filter((text) => !kept.has(hash(text)));
    for (let at = 0; at < missing.length; at += BATCH) {
      const batch = missing.slice(at, at + BATCH);
      const vectors = await ask(url, { model, input: batch });
      batch.forEach((text, place) => kept.set(hash(text), pack(vectors[place] ?? [])));
    }
    return texts.map((text) => unpack(kept.get(hash(text)) ?? ''));
  }

  const server = http.createServer((request, response) => {
    void (async () => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const body = JSON.parse(Buffer.concat(chunks).toString('utf8')) as Request;
      const vectors = await embed(body.input);
      const data = vectors.map((embedding, index) => ({ object: 'embedding', index, embedding }));
      const usage = { prompt_tokens: 0, total_tokens: 0 };
      response.setHeader('Content-Type', 'application/json');
      response.end(JSON.stringify({ object: 'list', model, data, usage }));
    })().catch((error: unknown) => {
      response.statusCode = 502;
      response.end(JSON.stringify({ error: { message: String(error) } }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    dimensions: vector.length,
    async close() {
      write();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function ask(url: string, request: Request): Promise<number[][]> {
  const key = process.env['SERVICE_EMBEDDING_API_KEY'];
  const answer = await fetch(`${url.replace(/\/$/, '')}/embeddings`, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      ...(key === undefined ? {} : { Authorization: `Bearer ${key}` }),
    },
    body: JSON.stringify({ ...request, encoding_format: 'float' }),
  });
  if (!answer.ok) throw new Error(`The embedder answered ${answer.status}.`);
  const { data } = (await answer.json()) as Answer;
  const vectors: number[][] = [];
  for (const { index, embedding } of data) vectors[index] = embedding;
  return vectors;
}

function hash(text: string): string {
  return createHash('sha256').update(text, 'utf8').digest('hex').slice(0, 32);
}

function pack(vector: readonly number[]): string {
  return Buffer.from(Float32Array.from(vector).buffer).toString('base64');
}

function unpack(text: string): number[] {
  const bytes = Uint8Array.from(Buffer.from(text, 'base64'));
  return [...new Float32Array(bytes.buffer)];
}
