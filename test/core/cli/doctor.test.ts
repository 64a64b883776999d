import { describe, expect, it, onTestFinished } from 'vitest';
import { toProblem } from '../../../core/cli/doctor/finding.ts';
import { chmodSync, existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { randomBytes } from 'node:crypto';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { runCommand, startCommand } from '../../support/command.ts';
import { EMBEDDINGS } from '../../support/provider-server/misbehaviour.ts';
import { type Behaviour, startProviderServer } from '../../support/provider-server/server.ts';
import { answerExam, type ExamAnswers } from '../../support/exam-model.ts';
import { freshDatabase } from '../../support/mariadb.ts';
import { temporaryDirectory } from '../../support/service.ts';

/** Asks the doctor about a model of a server that has vectors of one length, whatever is asked. */
async function ask(
  env: Record<string, string>,
  behaviour?: Behaviour,
  dimensions = 768,
): Promise<{ code: number | null; stdout: string; stderr: string; inputs: string[] }> {
  const server = await startProviderServer({ dimensions });
  onTestFinished(() => server.close());
  server.always(
    behaviour ??
      (({ body, proper, sendJson }) => {
        delete body.dimensions;
        sendJson(200, proper());
      }),
  );
  const { code, stdout, stderr } = await runCommand({
    cwd: await temporaryDirectory(),
    args: ['doctor'],
    env: {
      SERVICE_EMBEDDING_PROVIDER: 'openai',
      SERVICE_EMBEDDING_BASE_URL: server.baseUrl,
      ...env,
    },
  });
  const inputs = server.received.flatMap(({ body }) => body.input as string[]);
  return { code, stdout, stderr, inputs };
}

it('says model, length, time, and the prefixes of a known family', async () => {
  const { code, stdout, inputs } = await ask({ SERVICE_EMBEDDING_NAME: 'nomic-embed-text' });
  expect(code).toBe(0);
  expect(stdout.replaceAll(/\d+ ms/g, '1 ms')).toContain(
    [
      'warning  embedder       openai, model nomic-embed-text',
      'Vectors:     768 numbers',
      'Time:        1 ms, then 1 ms',
      'Reads:       2048 tokens; longer passages are embedded in parts',
      'Set for a model of the family nomic:',
      '  SERVICE_EMBEDDING_QUESTION_PREFIX="search_query: "',
      '  SERVICE_EMBEDDING_PASSAGE_PREFIX="search_document: "',
      '',
    ].join('\n'),
  );
  expect(inputs).toContain('She drinks green tea in the morning.');
});

const QUESTION = '  SERVICE_EMBEDDING_QUESTION_PREFIX=';
const PASSAGE = '  SERVICE_EMBEDDING_PASSAGE_PREFIX=';

it.each([
  ['intfloat/multilingual-e5-base', 768, 'e5', [`${QUESTION}"query: "`, `${PASSAGE}"passage: "`]],
  [
    'BAAI/bge-base-en-v1.5',
    768,
    'bge',
    [`${QUESTION}"Represent this sentence for searching relevant passages: "`],
  ],
  ['text-embedding-3-small', 1_536, 'OpenAI', []],
])('knows what to set for %s', async (name, dimensions, family, changes) => {
  const env = { SERVICE_EMBEDDING_NAME: name, SERVICE_SEARCH_EMBED_TIMEOUT_MS: '60000' };
  const { code, stdout } = await ask(env, undefined, dimensions);
  expect(code).toBe(0);
  expect(stdout).toContain(`Vectors:     ${dimensions} numbers\n`);
  const advice =
    changes.length === 0
      ? [`All is set for a model of the family ${family}.`]
      : [`Set for a model of the family ${family}:`, ...changes];
  expect(stdout).toContain(`\n${advice.join('\n')}\n`);
  expect(stdout.split('SERVICE_EMBEDDING_')).toHaveLength(changes.length + 1);
});

it('knows how little a model reads of a text', async () => {
  const { stdout } = await ask({
    SERVICE_EMBEDDING_NAME: 'intfloat/e5-base-v2',
    SERVICE_EMBEDDING_QUESTION_PREFIX: 'query: ',
    SERVICE_EMBEDDING_PASSAGE_PREFIX: 'passage: ',
    SERVICE_EMBEDDING_MAX_TOKENS: '8000',
    SERVICE_SEARCH_EMBED_TIMEOUT_MS: '60000',
  });
  expect(stdout).toContain(
    'Set for a model of the family e5:\n  SERVICE_EMBEDDING_MAX_TOKENS="512"\n',
  );
});

it('has no advice where all is set', async () => {
  const { code, stdout } = await ask({
    SERVICE_EMBEDDING_NAME: 'nomic-embed-text',
    SERVICE_EMBEDDING_QUESTION_PREFIX: 'search_query: ',
    SERVICE_EMBEDDING_PASSAGE_PREFIX: 'search_document: ',
  });
  expect(code).toBe(0);
  expect(stdout).toMatch(/All is set for a model of the family nomic\.\n$/);
});

it.each([
  ['is missing', {}],
  ['is wrong', { SERVICE_EMBEDDING_DIMENSIONS: '1024' }],
])('says the length of the vectors where it %s', async (_what, env) => {
  const { code, stdout } = await ask({ SERVICE_EMBEDDING_NAME: 'my-model', ...env });
  expect(code).toBe(1);
  expect(stdout).toMatch(/the vectors have 768 numbers/);
  expect(stdout).toMatch(/\nSet:\n {2}SERVICE_EMBEDDING_DIMENSIONS=768\n$/);
});

it('asks for more time where a find would not wait for the embedder', async () => {
  const { stdout } = await ask({
    SERVICE_EMBEDDING_NAME: 'my-model',
    SERVICE_EMBEDDING_DIMENSIONS: '768',
    SERVICE_SEARCH_EMBED_TIMEOUT_MS: '1',
  });
  expect(stdout).toMatch(/Set:\n {2}SERVICE_SEARCH_EMBED_TIMEOUT_MS="\d+"\n$/);
});

it('says why an embedder cannot be used', async () => {
  const env = { SERVICE_EMBEDDING_NAME: 'my-model', SERVICE_EMBEDDING_DIMENSIONS: '768' };
  const refused = await ask(env, ({ sendJson }) => sendJson(401, {}));
  expect([refused.code, refused.stdout]).toEqual([
    1,
    expect.stringContaining("It can't be used: the provider answered 401; check the API key.\n"),
  ]);
  const bad = EMBEDDINGS.find(({ name }) => name === 'vectors of zeros');
  const zeros = await ask(env, bad?.behave);
  expect([zeros.code, zeros.stdout]).toEqual([1, expect.stringContaining("It can't be used: ")]);
});

it('says what to install for a model in the same process', async () => {
  const { code, stdout } = await ask({ SERVICE_EMBEDDING_PROVIDER: 'local' });
  expect(code).toBe(1);
  expect(stdout).toContain('model Xenova/multilingual-e5-small\n');
  expect(stdout).toContain('run npm install @huggingface/transformers.\n');
});

it('says that no embedder is configured, and how to set one', async () => {
  const { code, stdout } = await ask({ SERVICE_EMBEDDING_PROVIDER: '' });
  expect(code).toBe(0);
  expect(stdout).toMatch(/^- +embedder +not configured: .* memory-service embedder setup\.\n$/m);
});

it('stands in the help', async () => {
  const cwd = await temporaryDirectory();
  expect((await runCommand({ cwd, args: ['--help'] })).stdout).toMatch(/\n {2}doctor +Check conf/);
  expect((await runCommand({ cwd, args: ['help', 'doctor'] })).stdout).toContain(
    'Usage: memory-service doctor [flags]',
  );
});

interface Report {
  ok: boolean;
  findings: { check: string; state: string; text: string; details?: string[] }[];
}

/** What the doctor finds in a folder. */
async function examine(
  cwd: string,
  env: Record<string, string> = {},
): Promise<{ code: number | null; ok: boolean; of(check: string): Report['findings'][number] }> {
  const { code, stdout } = await runCommand({ cwd, args: ['doctor', '--json'], env });
  const { ok, findings } = JSON.parse(stdout) as Report;
  const of = (check: string) =>
    findings.find((one) => one.check === check) ?? expect.fail(`no finding of ${check}`);
  return { code, ok, of };
}

const ALL = [
  ...['configuration', 'database', 'disk', 'secrets', 'allowed hosts', 'clock'],
  ...['model', 'verifier', 'exporter', 'MCP SDK', 'MCP 2026-07-28', 'packages', 'embedder'],
];

describe('the doctor', () => {
  it('has a line for all that can be wrong, writes nothing, and fails nothing that is not configured', async () => {
    const cwd = await temporaryDirectory();
    const { code, stdout } = await runCommand({ cwd, args: ['doctor'] });
    expect(code).toBe(0);
    for (const check of ALL)
      expect(stdout).toMatch(new RegExp(`^(?:ok|warning|-) +${check} `, 'm'));
    expect(stdout).toMatch(/^- +model +not configured: set SERVICE_MODEL_PROVIDER/m);
    expect(stdout).toMatch(/^- +exporter +not configured: set OTEL_EXPORTER_OTLP_ENDPOINT/m);
    expect(stdout).toMatch(/^warning +database +sqlite, no file at .*data\/memory\.db$/m);
    expect(readdirSync(cwd)).toEqual([]);
  });

  it('works while a server runs on the same database, and changes nothing there', async () => {
    const cwd = await temporaryDirectory();
    const command = await startCommand({ cwd });
    onTestFinished(() => void command.stop('SIGKILL'));
    const { code, of } = await examine(cwd);
    expect(code).toBe(0);
    expect(of('database')).toMatchObject({
      state: 'ok',
      text: expect.stringMatching(/^sqlite \d.*, schema \d+, .*open in the server at http/),
    });
    expect(of('secrets').text).toContain(join(cwd, 'data/secrets.json'));
    expect(of('clock').state).toBe('ok');
    expect(of('disk').state).toBe('ok');
  });

  it('reports a mistake in the configuration as a problem', async () => {
    const cwd = await temporaryDirectory();
    const { code, of } = await examine(cwd, { SERVICE_PORT: 'many' });
    expect(code).toBe(1);
    expect(of('configuration')).toMatchObject({
      state: 'problem',
      text: expect.stringContaining('SERVICE_PORT'),
    });
  });

  it('says what a start would warn of', async () => {
    const { code, of } = await examine(await temporaryDirectory(), {
      SERVICE_SEARCH_EMBED_TIMEOUT_MS: '60000',
      SERVICE_PROT: '1',
    });
    expect(code).toBe(0);
    expect(of('configuration')).toMatchObject({
      state: 'warning',
      details: [
        expect.stringMatching(/^SERVICE_PROT is not known.*did you mean SERVICE_\w+\?$/),
        expect.stringContaining('SERVICE_SEARCH_EMBED_TIMEOUT_MS is 60000 and counts as 14000'),
      ],
    });
  });

  it('names a file that the system refuses, without a stack', async () => {
    const path = join(await temporaryDirectory(), 'file');
    writeFileSync(path, '');
    const refused = await import('node:fs/promises').then(({ readdir }) =>
      readdir(path).catch((error: unknown) => error),
    );
    expect(toProblem(refused).text).toBe(`${path} cannot be read (ENOTDIR)`);
  });

  it('finds a database of a newer version, a damaged one, and one that does not answer', async () => {
    const cwd = await temporaryDirectory();
    mkdirSync(join(cwd, 'data'));
    const newer = new Database(join(cwd, 'data/memory.db'));
    newer.exec(
      "create table svc_meta (key text primary key, value text); insert into svc_meta values ('schema_version', '999')",
    );
    newer.close();
    const found = await examine(cwd);
    expect([found.code, found.of('database')]).toEqual([
      1,
      expect.objectContaining({ state: 'problem', text: expect.stringContaining('999') }),
    ]);
    writeFileSync(join(cwd, 'data/memory.db'), 'no database at all, '.repeat(500));
    expect((await examine(cwd)).of('database').state).toBe('problem');
    const url = 'mysql://memory:secret@127.0.0.1:1/memory';
    const away = await examine(cwd, { SERVICE_DATABASE_URL: url });
    expect([away.code, away.of('database').state]).toEqual([1, 'problem']);
    expect(JSON.stringify(away.of('database'))).not.toContain('secret');
  });

  it('asks a database server for its version and its clock, and says why one lets nobody in', async () => {
    const cwd = await temporaryDirectory();
    const SERVICE_DATABASE_URL = await freshDatabase();
    const secrets = {
      SERVICE_API_KEY: randomBytes(32).toString('base64url'),
      SERVICE_ADMIN_SECRET: randomBytes(32).toString('base64url'),
    };
    const good = await examine(cwd, { ...secrets, SERVICE_DATABASE_URL });
    expect([good.code, good.of('database').state]).toEqual([0, 'ok']);
    expect(good.of('database').text).toMatch(/^mysql \d+\./);
    expect(good.of('clock').text).toBe('the database has the same time as this machine');
    const url = new URL(SERVICE_DATABASE_URL);
    url.password = 'mistaken-password';
    const wrong = await examine(cwd, { ...secrets, SERVICE_DATABASE_URL: url.href });
    expect([wrong.code, wrong.of('database').state]).toEqual([1, 'problem']);
    expect(JSON.stringify(wrong.of('database'))).not.toContain('mistaken-password');
  });

  it('names files with secrets that others can read, and how to close them', async () => {
    const cwd = await temporaryDirectory();
    mkdirSync(join(cwd, 'data'));
    writeFileSync(join(cwd, '.env'), 'SERVICE_LOG_LEVEL=info\n');
    chmodSync(join(cwd, '.env'), 0o644);
    expect((await examine(cwd)).of('disk')).toMatchObject({
      state: 'warning',
      details: [expect.stringMatching(/chmod 600 .*\.env$/)],
    });
    expect(statSync(join(cwd, '.env')).mode & 0o777).toBe(0o644);
    chmodSync(join(cwd, '.env'), 0o600);
    expect((await examine(cwd)).of('disk').state).toBe('ok');
  });

  it.skipIf(process.getuid?.() === 0)('finds a folder that cannot be written', async () => {
    const cwd = await temporaryDirectory();
    chmodSync(cwd, 0o500);
    onTestFinished(() => chmodSync(cwd, 0o700));
    expect((await examine(cwd)).of('disk')).toMatchObject({ state: 'problem' });
  });

  it('judges secrets by who can reach the service', async () => {
    const cwd = await temporaryDirectory();
    const weak = { SERVICE_API_KEY: 'short', SERVICE_ADMIN_SECRET: 'password'.repeat(6) };
    const here = await examine(cwd, weak);
    expect([here.code, here.of('secrets').state]).toEqual([0, 'warning']);
    const everywhere = await examine(cwd, { ...weak, SERVICE_HOST: '0.0.0.0' });
    expect([everywhere.code, everywhere.of('secrets')]).toEqual([
      1,
      expect.objectContaining({
        state: 'problem',
        text: 'SERVICE_API_KEY has 5 characters, fewer than 32',
      }),
    ]);
    expect(everywhere.of('allowed hosts')).toMatchObject({
      state: 'warning',
      details: [expect.stringContaining('SERVICE_ALLOWED_HOSTS')],
    });
    const none = await examine(cwd, { SERVICE_HOST: '0.0.0.0' });
    expect(none.of('secrets').text).toBe('SERVICE_API_KEY is not set');
    const server = await startProviderServer();
    onTestFinished(() => server.close());
    const placeholder = await examine(cwd, {
      SERVICE_EMBEDDING_PROVIDER: 'openai',
      SERVICE_EMBEDDING_BASE_URL: server.baseUrl,
      SERVICE_EMBEDDING_API_KEY: 'your-api-key',
    });
    expect(placeholder.of('secrets').details).toEqual([
      expect.stringContaining('SERVICE_EMBEDDING_API_KEY looks like a placeholder'),
    ]);
    expect(existsSync(join(cwd, 'data'))).toBe(false);
  });

  it('asks model and verifier by the list of models, and says why one does not answer', async () => {
    const server = await startProviderServer({ models: ['small'] });
    onTestFinished(() => server.close());
    const env = {
      SERVICE_MODEL_PROVIDER: 'openai',
      SERVICE_MODEL_BASE_URL: server.baseUrl,
      SERVICE_MODEL_NAME: 'small',
    };
    const cwd = await temporaryDirectory();
    const good = await examine(cwd, env);
    expect([good.code, good.of('model')]).toEqual([
      0,
      expect.objectContaining({
        state: 'ok',
        text: expect.stringMatching(/^openai, small answers/),
      }),
    ]);
    expect(server.received.map(({ path }) => path)).toEqual(['/v1/models']);
    expect(good.of('verifier')).toMatchObject({ state: 'off' });
    server.always(({ path, sendJson }) =>
      path === '/v1/models' ? sendJson(200, { data: [{ id: 'small' }] }) : sendJson(404, {}),
    );
    const judged = await examine(cwd, { ...env, SERVICE_VERIFIER_NAME: 'absent' });
    expect([judged.code, judged.of('model').state, judged.of('verifier')]).toEqual([
      1,
      'ok',
      expect.objectContaining({
        state: 'problem',
        text: 'openai, absent: the provider answered 404; check the base URL and the name of the model',
      }),
    ]);
  });

  it('sends the collector an export without spans, and says why it is not taken', async () => {
    let status = 200;
    const bodies: number[] = [];
    const collector = http.createServer((request, response) => {
      let bytes = 0;
      request.on('data', (chunk: Buffer) => (bytes += chunk.byteLength));
      request.on('end', () => {
        bodies.push(bytes);
        response.writeHead(status).end();
      });
    });
    await new Promise<void>((done) => collector.listen(0, '127.0.0.1', done));
    onTestFinished(() => void collector.close());
    const { port } = collector.address() as AddressInfo;
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}` };
    const cwd = await temporaryDirectory();
    const good = await examine(cwd, env);
    expect([good.code, good.of('exporter')]).toEqual([
      0,
      { check: 'exporter', state: 'ok', text: 'otlp takes spans', details: [] },
    ]);
    expect(bodies).toEqual([expect.any(Number)]);
    status = 401;
    const refused = await examine(cwd, env);
    expect([refused.code, refused.of('exporter').state]).toEqual([1, 'problem']);
    expect(good.of('packages').text).toContain('@opentelemetry/sdk-trace-node');
  });

  it('says which SDK of MCP is there', async () => {
    expect((await examine(await temporaryDirectory())).of('MCP SDK')).toMatchObject({
      state: 'ok',
      text: expect.stringMatching(/^@modelcontextprotocol\/sdk \d/),
    });
    expect((await examine(await temporaryDirectory())).of('MCP 2026-07-28')).toMatchObject({
      state: 'ok',
      text: expect.stringMatching(/^@modelcontextprotocol\/server \d/),
    });
  });
});

describe('doctor --model', () => {
  const examined = async (answers: ExamAnswers) => {
    const server = await startProviderServer({
      reply: ({ messages }) => {
        const prompt = messages.find(({ role }: { role: string }) => role === 'user').content;
        return JSON.stringify(answerExam(prompt as string, answers));
      },
    });
    onTestFinished(() => server.close());
    return await runCommand({
      cwd: await temporaryDirectory(),
      args: ['doctor', '--model'],
      env: {
        SERVICE_MODEL_PROVIDER: 'openai',
        SERVICE_MODEL_BASE_URL: server.baseUrl,
        SERVICE_MODEL_NAME: 'scripted',
      },
    });
  };

  it('prints the score of the model, time and tokens, and what to expect', async () => {
    const { code, stdout, stderr } = await examined({});
    expect([code, stderr.includes('Error')]).toEqual([0, false]);
    expect(stdout).toMatch(
      /^openai, scripted: files facts, 5 of 5 with the full prompts, [\d.]+ s, \d+ tokens in, \d+ out$/m,
    );
    expect(stdout).toContain('Judges edits: yes (8 of 8).');
  });

  it('exits with 1 for a model that passes every edit', async () => {
    const { code, stdout } = await examined({ judge: () => 'keeps' });
    expect(code).toBe(1);
    expect(stdout).toContain('  failed to notice a lost negation\n');
    expect(stdout).toContain('Judges edits: no');
  });
});
