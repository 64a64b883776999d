// @modelcontextprotocol/server-memory: a graph in one JSON file, asked through its own protocol.

import { createRequire } from 'node:module';
import path from 'node:path';
import type { OpenContestant } from '../support/contestant.ts';
import { importPeer } from '../support/import-peer.ts';
import { listPlaces, type NoteSet, pickPlace, pickQuery, toNote } from '../support/notes.ts';

interface Client {
  connect(transport: object): Promise<void>;
  callTool(call: { name: string; arguments: object }): Promise<unknown>;
  close(): Promise<void>;
}

type Sdk = { Client: new (info: { name: string; version: string }) => Client };
type Stdio = {
  StdioClientTransport: new (server: {
    command: string;
    args: string[];
    env: Record<string, string>;
    stderr: 'ignore';
  }) => object;
};

const BATCH = 2_000;

/** Notes as entities, each with its text as an observation. */
export const open: OpenContestant<{ set: NoteSet }> = async ({ set, directory }) => {
  const { Client } = await importPeer<Sdk>('@modelcontextprotocol/sdk/client/index.js');
  const stdio = await importPeer<Stdio>('@modelcontextprotocol/sdk/client/stdio.js');
  const packageFile = createRequire(import.meta.url).resolve(
    '@modelcontextprotocol/server-memory/package.json',
  );
  const client = new Client({ name: 'bench', version: '0.0.0' });
  await client.connect(
    new stdio.StdioClientTransport({
      command: process.execPath,
      args: [path.join(path.dirname(packageFile), 'dist', 'index.js')],
      env: { MEMORY_FILE_PATH: path.join(directory, 'memory.jsonl') },
      stderr: 'ignore',
    }),
  );

  async function call(name: string, args: object): Promise<string> {
    const answer = (await client.callTool({ name, arguments: args })) as {
      isError?: boolean;
      content: { text?: string }[];
    };
    const text = answer.content[0]?.text ?? '';
    if (answer.isError === true) throw new Error(`${name}: ${text.slice(0, 300)}`);
    return text;
  }
  const toEntity = (name: string, text: string): object => ({
    name,
    entityType: 'note',
    observations: [text],
  });

  const entities = listPlaces(set).map(({ userId, path: file }, seed) =>
    toEntity(`${userId}/${file}`, toNote(seed)),
  );
  for (let start = 0; start < entities.length; start += BATCH) {
    await call('create_entities', { entities: entities.slice(start, start + BATCH) });
  }
  return {
    operations: {
      async read(n) {
        const { userId, path: file } = pickPlace(set, n);
        const text = await call('open_nodes', { names: [`${userId}/${file}`] });
        if (!text.includes(file)) throw new Error('There is no such entity.');
      },
      write: (n) => call('create_entities', { entities: [toEntity(`new/${n}`, toNote(n))] }),
      search: (n) => call('search_nodes', { query: pickQuery(n) }),
    },
    close: () => client.close(),
  };
};
