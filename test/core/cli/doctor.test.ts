import { expect, it, onTestFinished } from 'vitest';
import { runCommand } from '../../support/command.ts';
import { EMBEDDINGS } from '../../support/provider-server/misbehaviour.ts';
import { type Behaviour, startProviderServer } from '../../support/provider-server/server.ts';
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
  expect(stdout.replaceAll(/\d+ ms/g, '1 ms')).toBe(
    [
      'Embedder:    openai, model nomic-embed-text',
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
  expect(stdout.split('SERVICE_')).toHaveLength(changes.length + 1);
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
  expect(stdout).toMatch(/^No embedder is configured: .* SERVICE_EMBEDDING_PROVIDER\.\n$/);
});

it('stands in the help', async () => {
  const cwd = await temporaryDirectory();
  expect((await runCommand({ cwd, args: ['--help'] })).stdout).toMatch(/\n {2}doctor +Embed a/);
  expect((await runCommand({ cwd, args: ['help', 'doctor'] })).stdout).toContain(
    'Usage: memory-service doctor [flags]',
  );
});
