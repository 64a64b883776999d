import { execFile } from 'node:child_process';
import { readdir, rm, truncate, writeFile } from 'node:fs/promises';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it as test, onTestFinished } from 'vitest';
import { checkEmbedder } from '../../../core/testing/index.ts';
import { local, type LocalEmbedderOptions } from '../../../plugins/embedder-local/index.ts';
import { rejection } from '../../support/rejection.ts';
import { call, openCore, temporaryDirectory } from '../../support/service.ts';
import { DIMENSIONS, tinyModel, writeTinyModel } from './tiny-model.ts';
import { COMMAND, findTransformers } from './transformers.ts';

let transformers: string | null = null;
beforeAll(async () => void (transformers = await findTransformers()), 600_000);

const open = (options: LocalEmbedderOptions) =>
  local({ ...(transformers === null ? {} : { transformers }), ...options });

async function makeFolder(): Promise<string> {
  const folder = await temporaryDirectory();
  await writeTinyModel(folder);
  return folder;
}
const inFolder = async (options: LocalEmbedderOptions = {}) =>
  open({ name: await makeFolder(), precision: 'fp32', ...options });

/** A place that models are downloaded from. */
async function startHub(files: Record<string, string | Buffer> | null): Promise<{
  baseUrl: string;
  asked: string[];
  hold(): () => void;
  /** What becomes of a request for the model: half of it comes, or this status; `null`: all is well. */
  fail(how: 'cut off' | number | null): void;
}> {
  const asked: string[] = [];
  let gate = Promise.resolve();
  let failure: 'cut off' | number | null = null;
  const server = http.createServer((request, response) => {
    const file = (request.url ?? '').replace('/tiny/model/resolve/main/', '').split('?')[0] ?? '';
    const content = files?.[file];
    asked.push(file);
    if (content === undefined) return void response.writeHead(404).end();
    const bytes = Buffer.from(content as string);
    const isModel = file.startsWith('onnx/');
    if (isModel && typeof failure === 'number') return void response.writeHead(failure).end();
    response.writeHead(200, { 'content-length': bytes.length });
    if (request.method === 'HEAD') return void response.end();
    // Of the model, half comes first.
    if (!isModel) return void response.end(bytes);
    const half = bytes.subarray(0, bytes.length / 2);
    if (failure === 'cut off') return void response.write(half, () => response.destroy());
    response.write(half);
    void gate.then(() => response.end(bytes.subarray(bytes.length / 2)));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    hold() {
      let open = (): void => undefined;
      gate = new Promise((resolve) => (open = resolve));
      return open;
    },
    fail: (how) => void (failure = how),
  };
}

const downloaded = { name: 'tiny/model', dimensions: DIMENSIONS, precision: 'fp32' } as const;

/** Calls until the model is there. */
async function embedSoon(embedder: ReturnType<typeof open>, text: string): Promise<Float32Array> {
  let vector: Float32Array | undefined;
  await expect
    .poll(
      async () => {
        [vector] = await embedder.embed([text], {}).catch(() => []);
        return vector;
      },
      { timeout: 30_000 },
    )
    .toBeDefined();
  return vector as Float32Array;
}

/** Runs with the package alone; without it, the run says which command installs it. */
function it(title: string, run: () => Promise<void>): void {
  test(title, { timeout: 120_000 }, async ({ skip }) => {
    if (transformers === null) return skip(COMMAND);
    await run();
  });
}

describe('options', () => {
  test.each([
    [{ name: 'me/my-model' }, /dimensions is missing: the length of the vectors of me\/my-model/],
    [{ name: './no-such-folder' }, /no-such-folder has no config\.json of a model/],
    [{ precision: 'q3' as 'q8' }, /precision of embedder-local must be/],
    [{ apiKey: 'x' } as object, /apiKey/],
  ])('%o is refused: %s', (options, message) => {
    expect(() => local(options)).toThrow(message);
  });

  test('have a small multilingual model with its prefixes by default', () => {
    expect(local()).toMatchObject({
      model: 'Xenova/multilingual-e5-small',
      dimensions: 384,
      maxTokens: 512,
      prefixes: { question: 'query: ', passage: 'passage: ' },
    });
  });

  test('without the package the first call says what to install', async () => {
    const embedder = local({ transformers: '@huggingface/not-there' });
    const error = await rejection(embedder.embed(['tea'], {}));
    expect(error).toMatchObject({
      code: 'EMBEDDING_FAILED',
      details: { reason: 'not_installed' },
      message: expect.stringContaining('run npm install @huggingface/transformers'),
    });
  });
});

describe('a model in a folder', () => {
  it('is loaded without the network, and texts of one meaning are alike', async () => {
    const embedder = await inFolder({ baseUrl: 'http://127.0.0.1:9' });
    expect(embedder.dimensions).toBe(DIMENSIONS);
    const [tea, coffee, dog] = await embedder.embed(['Green tea.', 'Green coffee.', 'A dog.'], {});
    expect(tea).toBeInstanceOf(Float32Array);
    expect(tea).toEqual(coffee);
    expect(tea).not.toEqual(dog);
  });

  it('keeps every rule of an embedder', async () => {
    const folder = await makeFolder();
    const results = await checkEmbedder({
      make: () => open({ name: folder, precision: 'fp32' }),
      makeUnreachable: () => open({ ...downloaded, baseUrl: 'http://127.0.0.1:9' }),
    });
    expect(results.filter(({ status }) => status !== 'passed')).toEqual([]);
  });

  it('lets the service find by meaning', async () => {
    const core = await openCore({ embedder: await inFolder() });
    await call(core, 'ann', 'memory_write', { path: 'user/a.md', content: 'She likes coffee.\n' });
    await call(core, 'ann', 'memory_write', { path: 'user/b.md', content: 'The puppy sleeps.\n' });
    await core.indexer.drain();
    await core.embeddings?.drain();
    const { result } = await call<{ mode: string; results: { path: string }[] }>(
      core,
      'ann',
      'memory_find',
      { query: 'beverage' },
    );
    expect(result.mode).toBe('hybrid');
    expect(result.results[0]?.path).toBe('user/a.md');
  });

  it('is given up when the caller gives up', async () => {
    const embedder = await inFolder();
    await embedder.embed(['tea'], {});
    const controller = new AbortController();
    const texts = Array.from({ length: 500 }, (_, n) => `tea ${n}`);
    const all = embedder.embed(texts, { signal: controller.signal });
    controller.abort();
    expect((await rejection(all)).details).toMatchObject({ reason: 'aborted' });
    expect(await embedder.embed(['tea'], {})).toHaveLength(1);
  });

  it('that is damaged is named as the reason, and works once it is whole again', async () => {
    const folder = await makeFolder();
    await truncate(path.join(folder, 'onnx/model.onnx'), 100);
    const embedder = open({ name: folder, precision: 'fp32' });
    const error = await rejection(embedder.embed(['tea'], {}));
    expect(error.message).toContain('the files of the model are damaged');
    await writeTinyModel(folder);
    expect(await embedder.embed(['tea'], {})).toHaveLength(1);
  });

  it('that is damaged is named as the reason, whatever its path looks like', async () => {
    for (const name of ['bert-512', '401', 'forbidden']) {
      const folder = path.join(await temporaryDirectory(), name);
      await writeTinyModel(folder);
      await truncate(path.join(folder, 'onnx/model.onnx'), 100);
      const error = await rejection(open({ name: folder, precision: 'fp32' }).embed(['tea'], {}));
      expect(error.details, name).toMatchObject({ problem: 'damaged_model' });
    }
  });

  it('leaves the event loop free while it embeds many texts', async () => {
    const embedder = await inFolder();
    await embedder.embed(['tea'], {});
    let turns = 0;
    let isDone = false;
    const all = embedder
      .embed(
        Array.from({ length: 400 }, (_, n) => `tea ${n}`),
        {},
      )
      .finally(() => (isDone = true));
    while (!isDone) {
      await nextTurn();
      turns += 1;
    }
    expect(await all).toHaveLength(400);
    // The hundred batches would be the only turns if the model ran in this thread.
    expect(turns).toBeGreaterThan(500);
  });

  it('without its ONNX file is no model', async () => {
    const folder = await makeFolder();
    await rm(path.join(folder, 'onnx'), { recursive: true });
    const error = await rejection(open({ name: folder, precision: 'fp32' }).embed(['tea'], {}));
    expect(error.message).toContain('there is no such model with ONNX files');
  });
});

describe('a model that is downloaded', () => {
  it('is there after the first start, and none is asked for afterwards', async () => {
    const hub = await startHub(tinyModel());
    const cacheDir = await temporaryDirectory();
    const first = await embedSoon(
      open({ ...downloaded, baseUrl: hub.baseUrl, cacheDir }),
      'Green tea.',
    );
    expect(hub.asked).toContain('onnx/model.onnx');
    hub.asked.length = 0;
    const second = await embedSoon(
      open({ ...downloaded, baseUrl: hub.baseUrl, cacheDir }),
      'Green tea.',
    );
    expect(second).toEqual(first);
    expect(hub.asked).toEqual([]);
  });

  it('says how much of it has arrived until it is there', async () => {
    const hub = await startHub(tinyModel());
    const release = hub.hold();
    const embedder = open({
      ...downloaded,
      baseUrl: hub.baseUrl,
      cacheDir: await temporaryDirectory(),
    });
    const error = await rejection(embedder.embed(['tea'], {}));
    expect(error.message).toMatch(/the model is being downloaded, \d+ %/);
    expect(error.retryAfterSeconds).toBe(2);
    release();
    await embedSoon(embedder, 'tea');
  });

  it('cannot be had without a network, and is tried again', async () => {
    const cacheDir = await temporaryDirectory();
    const away = open({ ...downloaded, baseUrl: 'http://127.0.0.1:9', cacheDir });
    for (let attempt = 0; attempt < 2; attempt += 1) {
      const error = await rejection(away.embed(['tea'], {}));
      expect(error.details).toMatchObject({ reason: 'unreachable', problem: 'no_download' });
    }
  });

  it('and is cut off, or refused for now, could not be downloaded, and is tried again', async () => {
    const hub = await startHub(tinyModel());
    const embedder = open({
      ...downloaded,
      baseUrl: hub.baseUrl,
      cacheDir: await temporaryDirectory(),
    });
    for (const how of ['cut off', 503, 429] as const) {
      hub.fail(how);
      let problem: unknown = 'downloading';
      while (problem === 'downloading') {
        await nextTurn();
        ({ problem } = (await rejection(embedder.embed(['tea'], {}))).details ?? {});
      }
      expect(problem, String(how)).toBe('no_download');
    }
    hub.fail(null);
    await embedSoon(embedder, 'tea');
  });

  it('keeps no process alive, and is whole at the next start though that one ended', async () => {
    const hub = await startHub(tinyModel());
    const release = hub.hold();
    const options = {
      ...downloaded,
      baseUrl: hub.baseUrl,
      cacheDir: await temporaryDirectory(),
      transformers: transformers ?? '',
    };
    const plugin = new URL('../../../dist/plugins/embedder-local/index.js', import.meta.url);
    const script = path.join(options.cacheDir, 'embed.mjs');
    await writeFile(
      script,
      `import { local } from ${JSON.stringify(plugin.href)};
      await local(${JSON.stringify(options)})
        .embed(['tea'], {})
        .catch(({ details }) => console.log(details.problem));`,
    );
    const { stdout } = await promisify(execFile)(process.execPath, [script]);
    expect(stdout).toBe('downloading\n');
    release();
    await embedSoon(open(options), 'tea');
  });

  it('that does not exist is named as the reason', async () => {
    const hub = await startHub({});
    const wrong = open({
      ...downloaded,
      baseUrl: hub.baseUrl,
      cacheDir: await temporaryDirectory(),
    });
    const error = await rejection(wrong.embed(['tea'], {}));
    expect(error.message).toContain('there is no such model with ONNX files');
  });

  it('and is damaged in the cache says so, and is downloaded again once it is deleted', async () => {
    const hub = await startHub(tinyModel());
    const cacheDir = await temporaryDirectory();
    await embedSoon(open({ ...downloaded, baseUrl: hub.baseUrl, cacheDir }), 'tea');
    const files = await readdir(cacheDir, { recursive: true });
    const file = files.find((name) => name.endsWith('model.onnx')) ?? expect.fail('no file');
    await writeFile(path.join(cacheDir, file), 'damaged');
    const embedder = open({ ...downloaded, baseUrl: hub.baseUrl, cacheDir });
    const error = await rejection(embedder.embed(['tea'], {}));
    expect(error.message).toContain('delete them from the cache');
    await rm(path.join(cacheDir, 'tiny'), { recursive: true });
    await embedSoon(embedder, 'tea');
  });
});
