import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseEnv } from 'node:util';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { findOllama } from '../../../core/cli/embedder/ollama.ts';
import { runCommand, startCommand } from '../../support/command.ts';
import { embedMeaning } from '../../support/provider-server/embed.ts';
import { type ProviderServer, startProviderServer } from '../../support/provider-server/server.ts';
import { temporaryDirectory } from '../../support/service.ts';

let cwd: string;
let server: ProviderServer;
beforeEach(async () => {
  cwd = await temporaryDirectory();
  const own = await startProviderServer({ embed: embedMeaning });
  onTestFinished(async () => {
    await own.close();
    expect(own.violations).toEqual([]);
  });
  server = own;
  server.always(({ body, proper, sendJson }) => {
    // A server that knows no such parameter.
    delete body.dimensions;
    sendJson(200, proper());
  });
});

const dotEnv = () => join(cwd, '.env');
const readEnv = () => parseEnv(readFileSync(dotEnv(), 'utf8'));
const FLAGS = () => ['--provider=openai', `--base-url=${server.baseUrl}`, '--model=meaning'];
const KEY = 'sk-0123456789abcdef0123456789abcdef';

function setUp(args: readonly string[] = FLAGS(), env: Record<string, string> = {}) {
  return runCommand({ cwd, args: ['embedder', 'setup', ...args], env });
}

/** What .env gets from {@link FLAGS}. */
const added = () => ({
  SERVICE_EMBEDDING_PROVIDER: 'openai',
  SERVICE_EMBEDDING_BASE_URL: server.baseUrl,
  SERVICE_EMBEDDING_NAME: 'meaning',
  SERVICE_EMBEDDING_DIMENSIONS: '8',
});

/** Runs a server with the folder's settings, while `work` uses it. */
async function withServer<T>(
  work: (
    call: (tool: string, args: object) => Promise<Record<string, unknown>>,
    command: Awaited<ReturnType<typeof startCommand>>,
  ) => Promise<T>,
): Promise<T> {
  const command = await startCommand({ cwd });
  try {
    return await work(async (tool, args) => {
      const answer = await fetch(`${command.url}/v1/tools/${tool}/execute`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${command.apiKey}`,
          'content-type': 'application/json',
        },
        body: JSON.stringify({ context: { userId: 'ann' }, arguments: args }),
      });
      return ((await answer.json()) as { result: Record<string, unknown> }).result;
    }, command);
  } finally {
    await command.stop();
  }
}

const remember = () =>
  withServer((call) => call('memory_write', { path: 'user/a.md', content: 'She drinks tea.\n' }));

describe('memory-service embedder setup', () => {
  it('tests the embedder, learns the length of its vectors, adds its settings and embeds all memory', async () => {
    await remember();
    const { code, stdout } = await setUp();
    expect(code).toBe(0);
    expect(stdout).toContain('Embedder:    openai, model meaning\nVectors:     8 numbers\nTime: ');
    expect(stdout).toContain(`Added to ${dotEnv()}, which only you can read (mode 0600).\n`);
    expect(stdout).toContain('All memory is embedded: 1 texts.\n');
    expect(readEnv()).toEqual(added());
    expect(statSync(dotEnv()).mode & 0o777).toBe(0o600);
    await withServer(async (call) => {
      // By its meaning alone.
      await expect
        .poll(async () => (await call('memory_find', { query: 'beverage' }))['results'])
        .toHaveLength(1);
    });
  });

  it('shows everything and changes nothing with --dry-run', async () => {
    const { code, stdout } = await setUp([...FLAGS(), '--dry-run']);
    expect(code).toBe(0);
    expect(stdout).toContain(`  SERVICE_EMBEDDING_BASE_URL=${server.baseUrl}\n`);
    expect(stdout).toContain('  SERVICE_EMBEDDING_DIMENSIONS=8\n');
    expect(existsSync(dotEnv())).toBe(false);
  });

  it('sets what is known of the family of a model', async () => {
    server.always(({ body, proper, sendJson }) => {
      body.dimensions = 768;
      sendJson(200, proper());
    });
    const { code } = await setUp([...FLAGS().slice(0, 2), '--model=nomic-embed-text']);
    expect(code).toBe(0);
    expect(readEnv()).toMatchObject({
      SERVICE_EMBEDDING_QUESTION_PREFIX: 'search_query: ',
      SERVICE_EMBEDDING_PASSAGE_PREFIX: 'search_document: ',
      SERVICE_EMBEDDING_DIMENSIONS: '768',
    });
  });

  it('takes the key from the variable that is named, and prints none of it', async () => {
    const args = [...FLAGS(), '--api-key-env=MY_KEY'];
    const { code, stdout, stderr } = await setUp(args, { MY_KEY: KEY });
    expect(code).toBe(0);
    expect(server.received.every(({ headers }) => headers.authorization === `Bearer ${KEY}`)).toBe(
      true,
    );
    expect(stdout).toContain('  SERVICE_EMBEDDING_API_KEY=********\n');
    expect(stdout + stderr).not.toContain(KEY.slice(0, 12));
    expect(readEnv()).toMatchObject({ SERVICE_EMBEDDING_API_KEY: KEY });
  });

  it('sends a key of OpenAI, or one that is set for another server, to no other server', async () => {
    writeFileSync(
      dotEnv(),
      `SERVICE_EMBEDDING_PROVIDER=openai\nSERVICE_EMBEDDING_API_KEY=${KEY}\n`,
    );
    const { code, stderr } = await setUp(FLAGS(), { OPENAI_API_KEY: KEY });
    expect(code).toBe(1);
    expect(stderr).toContain(
      'SERVICE_EMBEDDING_API_KEY (.env) is set, and this embedder takes none',
    );
    expect(server.received.length).toBeGreaterThan(0);
    for (const { headers } of server.received) expect(headers.authorization).not.toContain(KEY);
  });

  it('says why an embedder cannot be used, and changes nothing', async () => {
    server.always(({ sendJson }) => sendJson(401, {}));
    const refused = await setUp();
    expect([refused.code, refused.stderr]).toEqual([
      1,
      expect.stringContaining('the provider answered 401; check the API key. Nothing was changed.'),
    ]);
    const local = await setUp(['--provider=local']);
    expect([local.code, local.stderr]).toEqual([
      1,
      expect.stringContaining('npm install @huggingface/transformers'),
    ]);
    expect(existsSync(dotEnv())).toBe(false);
  });

  it.each<[string, string[], RegExp]>([
    ['without flags', [], /--provider=local .*\n.*--provider=ollama .*\n.*--provider=openai /],
    ['with another provider', ['--provider=mine'], /must be one of local, ollama, openai/],
    ['without a key', ['--provider=openai'], /OPENAI_API_KEY.*--api-key-env/],
    [
      'with a variable that is not set',
      ['--provider=openai', '--api-key-env=NONE'],
      /--api-key-env names NONE, which is not set/,
    ],
    [
      'with an address that is not allowed',
      ['--provider=openai', '--base-url=http://169.254.169.254/v1', '--model=m'],
      /--base-url must be/,
    ],
    [
      'without a model of another server',
      ['--provider=openai', '--base-url=http://127.0.0.1:1/v1'],
      /--model=<name>/,
    ],
  ])('ends with 2 and says the flags %s, where there is no terminal', async (_what, args, said) => {
    const { code, stderr } = await setUp(args);
    expect([code, stderr]).toEqual([2, expect.stringMatching(said)]);
    expect(existsSync(dotEnv())).toBe(false);
  });

  it('says that it tests the embedder, which may take a while', async () => {
    const { stdout, stderr } = await setUp([...FLAGS(), '--dry-run']);
    expect(stderr).toContain('Testing the embedder');
    expect(stdout).not.toContain('Testing');
  });

  it('names the flag that has a wrong value', async () => {
    const { code, stderr } = await setUp(['--provider=openai', '--base-url=foo', '--model=m']);
    expect([code, stderr]).toEqual([
      2,
      expect.stringMatching(/^memory-service: --base-url must be an https:.* not "foo"\.$/m),
    ]);
  });

  it('shows no key where .env has another', async () => {
    writeFileSync(dotEnv(), 'SERVICE_EMBEDDING_API_KEY=sk-other\n');
    const { code, stderr } = await setUp([...FLAGS(), '--api-key-env=MY_KEY'], { MY_KEY: KEY });
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining('.env sets SERVICE_EMBEDDING_API_KEY to another one: change'),
    ]);
  });

  it('prints its help without setup, and ends with 2 for anything else', async () => {
    const help = await runCommand({ cwd, args: ['embedder'] });
    expect([help.code, help.stdout]).toEqual([
      0,
      expect.stringContaining('Usage: memory-service embedder [<setup>] [flags]'),
    ]);
    expect((await runCommand({ cwd, args: ['embedder', 'set'] })).code).toBe(2);
  });

  it('tells to restart a server that has the database open', async () => {
    await withServer(async (_call, { url }) => {
      const { code, stdout } = await setUp();
      expect(code).toBe(0);
      expect(stdout).toContain(
        `Restart the server at ${url}: it then embeds all memory in the background.\n`,
      );
    });
    // The restarted server has the embedder, and is asked instead.
    await withServer(async (_call, { url }) => {
      const { code, stdout } = await setUp();
      expect(code).toBe(0);
      expect(stdout).toContain('All of this is set already.\n');
      expect(stdout).toContain(`All memory is embedded by the server at ${url}`);
    });
  });
});

describe('at a terminal', () => {
  const SCRIPT = fileURLToPath(new URL('../../support/at-terminal.py', import.meta.url));
  const answer = (answers: readonly (readonly [question: string, typed: string])[]) =>
    runCommand({
      cwd,
      args: ['embedder', 'setup'],
      under: ['python3', SCRIPT, JSON.stringify(answers)],
      env: { OLLAMA_HOST: '127.0.0.1:1' },
    });

  it('it asks for what it needs, and shows no key while it is typed', async () => {
    const { code, stdout } = await answer([
      ['Number', '9\r'],
      ['from 1 to 3', ''],
      ['Number', '3\r'],
      ['Base URL', `${server.baseUrl}\r`],
      ['Embedding model', 'meaning\r'],
      ['API key', `${KEY}\r`],
    ]);
    expect(code).toBe(0);
    expect(stdout).toContain('3  OpenAI, or a server that speaks its API');
    expect(stdout).not.toContain(KEY.slice(0, 12));
    expect(readEnv()).toEqual({ ...added(), SERVICE_EMBEDDING_API_KEY: KEY });
  });

  it.each([
    ['the end of its input', '\u0004'],
    ['Ctrl-C', '\u0003'],
  ])('it changes nothing at %s', async (_what, typed) => {
    const { code, stdout } = await answer([['Number', typed]]);
    expect([code, stdout]).toEqual([2, expect.stringContaining('nothing changed')]);
    expect(existsSync(dotEnv())).toBe(false);
  });
});

describe('the file .env', () => {
  it.each<[string, string | Buffer, string]>([
    ['without a newline at its end', 'A=1', 'A=1\n'],
    ['of Windows', 'A=1\r\nB="x y"\r\n', 'A=1\r\nB="x y"\r\n'],
    ['with comments and an empty setting', '# Mine\nSERVICE_EMBEDDING_NAME=\n', '# Mine\n'],
  ])('%s keeps each byte, and gets what it lacks', async (_what, before, start) => {
    writeFileSync(dotEnv(), before);
    expect((await setUp()).code).toBe(0);
    const text = readFileSync(dotEnv(), 'utf8');
    expect(text.startsWith(start)).toBe(true);
    expect(text.startsWith(String(before))).toBe(true);
    expect(readEnv()).toMatchObject(added());
    if (text.includes('\r\n')) expect(text.replaceAll('\r\n', '')).not.toContain('\n');
    expect(statSync(dotEnv()).mode & 0o777).toBe(0o600);
  });

  it('in UTF-16 stays in UTF-16', async () => {
    const before = Buffer.from('\uFEFFSERVICE_LOG_LEVEL=warn\r\n', 'utf16le');
    writeFileSync(dotEnv(), before);
    expect((await setUp()).code).toBe(0);
    const after = readFileSync(dotEnv());
    expect(after.subarray(0, before.length).equals(before)).toBe(true);
    expect(parseEnv(new TextDecoder('utf-16le').decode(after))).toEqual({
      SERVICE_LOG_LEVEL: 'warn',
      ...added(),
    });
  });

  it('behind a link is changed, and the link stays', async () => {
    mkdirSync(join(cwd, 'kept'));
    writeFileSync(join(cwd, 'kept/settings'), 'A=1\n');
    symlinkSync('kept/settings', dotEnv());
    expect((await setUp()).code).toBe(0);
    expect(lstatSync(dotEnv()).isSymbolicLink()).toBe(true);
    expect(readFileSync(join(cwd, 'kept/settings'), 'utf8')).toMatch(/^A=1\nSERVICE_EMBEDDING_/);
  });

  it('with another value of a setting stays as it is', async () => {
    const before = 'SERVICE_EMBEDDING_NAME=other\n';
    writeFileSync(dotEnv(), before, { mode: 0o640 });
    const { code, stderr } = await setUp();
    const said =
      '.env sets SERVICE_EMBEDDING_NAME to other, not meaning: change or remove that line.';
    expect([code, stderr]).toEqual([1, expect.stringContaining(said)]);
    expect(readFileSync(dotEnv(), 'utf8')).toBe(before);
    expect(statSync(dotEnv()).mode & 0o777).toBe(0o640);
  });

  it('with a value that would swallow what is added stays as it is', async () => {
    // The quotation mark would end at that of the prefix.
    writeFileSync(dotEnv(), 'A="open\n');
    server.always(({ body, proper, sendJson }) => {
      body.dimensions = 768;
      sendJson(200, proper());
    });
    const { code, stderr } = await setUp([...FLAGS().slice(0, 2), '--model=nomic-embed-text']);
    const said = 'its last value may lack a quotation mark. Nothing was changed.';
    expect([code, stderr]).toEqual([1, expect.stringContaining(said)]);
    expect(readFileSync(dotEnv(), 'utf8')).toBe('A="open\n');
  });

  it('that is a folder, or in one that cannot be written, is named with what to do instead', async () => {
    mkdirSync(dotEnv());
    const folder = await setUp();
    expect([folder.code, folder.stderr]).toEqual([
      1,
      expect.stringMatching(
        /\.env cannot be added to \(it is a folder\): set .* in the environment/,
      ),
    ]);
    if (process.getuid?.() === 0) return;
    cwd = await temporaryDirectory();
    chmodSync(cwd, 0o500);
    onTestFinished(() => chmodSync(cwd, 0o700));
    const readOnly = await setUp();
    expect([readOnly.code, readOnly.stderr]).toEqual([
      1,
      expect.stringMatching(/cannot be written \(EACCES\)\. Set the variables above/),
    ]);
  });

  it('is not changed where the environment sets the embedder, which would win', async () => {
    const { code, stderr } = await setUp(FLAGS(), { SERVICE_EMBEDDING_NAME: 'other' });
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining(
        'SERVICE_EMBEDDING_NAME (environment) is other, not meaning, and wins over .env',
      ),
    ]);
    expect(existsSync(dotEnv())).toBe(false);
  });

  it.each([
    [
      'an embedder',
      '{ "embedder": { "plugin": "embedder-openai", "options": { "baseUrl": "http://127.0.0.1:1/v1", "name": "other", "dimensions": 3 } } }',
    ],
    ['its settings', '{ "embedder": { "provider": "openai", "name": "other" } }'],
  ])(
    'is not changed where a config file has %s: it says what to write there',
    async (_what, config) => {
      const settings = {
        provider: 'openai',
        baseUrl: server.baseUrl,
        name: 'meaning',
        dimensions: 8,
      };
      for (const [name, text] of [
        ['memory.config.json', config],
        ['memory.config.mjs', `export default ${config};`],
      ] as const) {
        cwd = await temporaryDirectory();
        const file = join(cwd, name);
        writeFileSync(file, text);
        const { code, stderr } = await setUp();
        expect(code).toBe(1);
        expect(stderr).toContain(`${file} sets embedder, and is never changed.`);
        const [, member = ''] = /Write in \S+:\n(.*),\n/.exec(stderr) ?? [];
        expect(
          name.endsWith('.json')
            ? JSON.parse(`{${member}}`)
            : ((await import(`data:text/javascript,export default {${member}}`)) as object),
        ).toMatchObject(
          name.endsWith('.json') ? { embedder: settings } : { default: { embedder: settings } },
        );
        expect(readFileSync(file, 'utf8')).toBe(text);
      }
      expect(existsSync(dotEnv())).toBe(false);
    },
  );
});

describe('an Ollama that runs', () => {
  /** An Ollama with these models; `embedding` is what it says that a model can do. */
  async function startOllama(models: Record<string, string[] | undefined>): Promise<string> {
    const ollama = http.createServer((request, response) => {
      let text = '';
      request.on('data', (chunk: Buffer) => (text += chunk.toString('utf8')));
      request.on('end', () => {
        const send = (value: unknown) =>
          response.setHeader('content-type', 'application/json').end(JSON.stringify(value));
        if (request.url === '/api/tags') {
          send({ models: Object.keys(models).map((name) => ({ name, details: {} })) });
        } else if (request.url === '/api/show') {
          const { model } = JSON.parse(text) as { model: string };
          send({ ...(models[model] === undefined ? {} : { capabilities: models[model] }) });
        } else {
          const { input } = JSON.parse(text) as { input: string[] };
          send({
            data: input.map((each, index) => ({ index, embedding: embedMeaning(each, 8) })),
          });
        }
      });
    });
    await new Promise<void>((done) => ollama.listen(0, '127.0.0.1', done));
    onTestFinished(() => void ollama.close());
    return `127.0.0.1:${(ollama.address() as AddressInfo).port}`;
  }

  it('is found by OLLAMA_HOST, and its one embedding model is taken', async () => {
    const OLLAMA_HOST = await startOllama({
      'qwen3:latest': ['completion'],
      'my-vectors:latest': ['embedding'],
    });
    const { code } = await setUp(['--provider=ollama'], { OLLAMA_HOST });
    expect(code).toBe(0);
    expect(readEnv()).toMatchObject({
      SERVICE_EMBEDDING_PROVIDER: 'openai',
      SERVICE_EMBEDDING_BASE_URL: `http://${OLLAMA_HOST}/v1`,
      SERVICE_EMBEDDING_NAME: 'my-vectors',
      SERVICE_EMBEDDING_DIMENSIONS: '8',
    });
  });

  it('is shown with its models where flags are missing', async () => {
    const OLLAMA_HOST = await startOllama({ 'bge-m3:latest': undefined, llama: ['completion'] });
    const { code, stderr } = await setUp([], { OLLAMA_HOST });
    expect(code).toBe(2);
    expect(stderr).toContain(`Ollama at http://${OLLAMA_HOST}: bge-m3:latest\n`);
  });

  it.each<[string, Record<string, string[]>, number, RegExp]>([
    ['several', { a: ['embedding'], b: ['embedding'] }, 2, /--model=a \(a, b\)/],
    ['no', { llama: ['completion'] }, 1, /run ollama pull nomic-embed-text/],
  ])('with %s embedding models says what to do', async (_what, models, exit, said) => {
    const OLLAMA_HOST = await startOllama(models);
    const { code, stderr } = await setUp(['--provider=ollama'], { OLLAMA_HOST });
    expect([code, stderr]).toEqual([exit, expect.stringMatching(said)]);
  });

  it('is missed with a word on how to start it', async () => {
    const { code, stderr } = await setUp(['--provider=ollama'], { OLLAMA_HOST: '127.0.0.1:1' });
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining(
        'No Ollama answers at http://127.0.0.1:1: start it with ollama serve',
      ),
    ]);
  });

  it.each([
    [undefined, 'http://127.0.0.1:11434'],
    ['0.0.0.0', 'http://127.0.0.1:11434'],
    ['0.0.0.0:8080', 'http://127.0.0.1:8080'],
    [':8080', 'http://127.0.0.1:8080'],
    ['gpu.local', 'http://gpu.local:11434'],
    ['https://ollama.example/', 'https://ollama.example'],
    ['http://10.0.0.1:1234/v1', 'http://10.0.0.1:1234'],
    ['[::]:11434', 'http://[::1]:11434'],
  ])('with OLLAMA_HOST=%s is asked at %s', (host, origin) => {
    expect(findOllama(host)).toBe(origin);
  });
});
