import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { loadConfig, openConfig } from '../../../core/config/index.ts';
import { type OtlpOptions, otlp } from '../../../plugins/exporter-otlp/index.ts';
import { startCollector } from '../../support/collector.ts';
import { call, openCore, temporaryDirectory } from '../../support/service.ts';

/** Exports one call, with the collector's address in place of `URL`; gives what arrived. */
async function exportOne(
  given: Record<string, string>,
  optionsFor: (url: string) => OtlpOptions = () => ({}),
) {
  const collector = await startCollector();
  const environment = Object.fromEntries(
    Object.entries(given).map(([name, value]) => [name, value.replace('URL', collector.url)]),
  );
  const core = await openCore({ exporters: [otlp({ environment, ...optionsFor(collector.url) })] });
  await call(core, 'alice', 'memory_list', {});
  await core.close();
  const [request] = collector.requests;
  if (request === undefined) throw new Error('nothing arrived');
  return request;
}

describe('the OTEL_* variables', () => {
  it.each([
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'URL' }, '/v1/traces'],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'URL/' }, '/v1/traces'],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'URL/otlp' }, '/otlp/v1/traces'],
    [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'URL/mine' }, '/mine'],
    [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'URL' }, '/'],
    [
      {
        OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1',
        OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'URL/t',
      },
      '/t',
    ],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'URL', OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: ' ' }, '/v1/traces'],
  ])('%j lead to %s', async (environment, path) => {
    expect((await exportOne(environment)).path).toBe(path);
  });

  it('of traces come before those of all signals, headers of both are sent', async () => {
    const { headers, spans } = await exportOne({
      OTEL_EXPORTER_OTLP_ENDPOINT: 'URL',
      OTEL_EXPORTER_OTLP_HEADERS: 'a=1,b=two%20words, c = x=1;y ',
      OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'a=3',
      OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
      OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'http/json',
      OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test,service.name=x,query=a=b;c',
      OTEL_SERVICE_NAME: 'memory',
    });
    expect(headers).toMatchObject({
      a: '3',
      b: 'two words',
      c: 'x=1;y',
      'content-type': 'application/json',
      'content-encoding': 'gzip',
    });
    expect(spans[0]?.resource).toMatchObject({
      'deployment.environment.name': 'test',
      'service.name': 'memory',
      query: 'a=b;c',
    });
  });

  it('give way to options', async () => {
    const { headers, spans } = await exportOne(
      {
        OTEL_EXPORTER_OTLP_ENDPOINT: 'c:4318',
        OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://127.0.0.1:1',
        OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'http/json',
        OTEL_EXPORTER_OTLP_HEADERS: 'a=1,b=2',
        OTEL_SERVICE_NAME: 'memory',
      },
      (endpoint) => ({
        endpoint,
        protocol: 'http/protobuf',
        headers: { a: '4' },
        serviceName: 'mine',
      }),
    );
    expect(headers).toMatchObject({ a: '4', b: '2', 'content-type': 'application/x-protobuf' });
    expect(spans[0]?.resource['service.name']).toBe('mine');
  });

  it('of the process have no effect where they are not handed over', async () => {
    const collector = await startCollector();
    const processEnvironment = process.env;
    vi.stubEnv('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'http://127.0.0.1:1');
    vi.stubEnv('OTEL_EXPORTER_OTLP_HEADERS', 'authorization=of-the-process');
    vi.stubEnv('OTEL_EXPORTER_OTLP_COMPRESSION', 'gzip');
    vi.stubEnv('OTEL_SERVICE_NAME', 'process');
    vi.stubEnv('OTEL_TRACES_SAMPLER', 'always_off');
    vi.stubEnv('OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT', '1');
    onTestFinished(() => void vi.unstubAllEnvs());
    const core = await openCore({ exporters: [otlp({ endpoint: collector.url })] });
    await call(core, 'alice', 'memory_list', {});
    await core.close();
    expect(process.env).toBe(processEnvironment);
    expect(process.env['OTEL_SERVICE_NAME']).toBe('process');
    const [request] = collector.requests;
    expect(request?.headers).not.toHaveProperty('authorization');
    expect(request?.headers).not.toHaveProperty('content-encoding');
    expect(request?.spans[0]?.resource['service.name']).toBe('memory-service');
    expect(Object.keys(request?.spans[0]?.attributes ?? {}).length).toBeGreaterThan(1);
  });

  it.each<[Record<string, string>, RegExp]>([
    [{ OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }, /^OTEL_EXPORTER_OTLP_PROTOCOL .*"grpc".*4318/],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'c:4318' }, /^OTEL_EXPORTER_OTLP_ENDPOINT must be an http/],
    [{ OTEL_EXPORTER_OTLP_TRACES_TIMEOUT: '0' }, /^OTEL_EXPORTER_OTLP_TRACES_TIMEOUT .*from 1/],
    [{ OTEL_EXPORTER_OTLP_HEADERS: 's3cret' }, /^OTEL_EXPORTER_OTLP_HEADERS must be a list/],
    [{ OTEL_EXPORTER_OTLP_HEADERS: 'a=%zz' }, /^OTEL_EXPORTER_OTLP_HEADERS must be a list/],
    [{ OTEL_EXPORTER_OTLP_TIMEOUT: 'soon' }, /^OTEL_EXPORTER_OTLP_TIMEOUT .*whole number/],
    [{ OTEL_EXPORTER_OTLP_COMPRESSION: 'zip' }, /^OTEL_EXPORTER_OTLP_COMPRESSION .*gzip, none/],
    [{ OTEL_BSP_MAX_QUEUE_SIZE: '0' }, /^OTEL_BSP_MAX_QUEUE_SIZE .*from 1/],
    [{ OTEL_TRACES_SAMPLER: 'toString' }, /^OTEL_TRACES_SAMPLER must be one of always_on/],
    [
      { OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '2' },
      /^OTEL_TRACES_SAMPLER_ARG must be from 0 to 1/,
    ],
  ])('%j are refused by name, and a secret is not repeated', (environment, message) => {
    expect(() => otlp({ environment })).toThrow(message);
    expect(() => otlp({ environment })).not.toThrow(/s3cret|zz/);
  });

  it('and options are refused by their own name', () => {
    expect(() => otlp({ endpoint: 'c:4318' })).toThrow(/^endpoint must be an http/);
    expect(() => otlp({ protocol: 'grpc' as 'http/json' })).toThrow(/^protocol must be one of/);
  });
});

describe('a sampler', () => {
  const parent = (flags: string) => `00-${'ab'.repeat(16)}-${'cd'.repeat(8)}-${flags}`;
  async function exportedWith(environment: Record<string, string>): Promise<string[]> {
    const collector = await startCollector();
    const core = await openCore({ exporters: [otlp({ endpoint: collector.url, environment })] });
    const execute = (more: object) =>
      core.tools.execute('memory_list', { context: { userId: 'alice' }, arguments: {}, ...more });
    const named = new Map([
      [(await execute({})).toolCallId, 'own'],
      [(await execute({ traceparent: parent('01') })).toolCallId, 'sampled'],
      [(await execute({ traceparent: parent('00') })).toolCallId, 'unsampled'],
    ]);
    await core.close();
    const ids = collector.spans.map(({ attributes }) => String(attributes['memory.tool_call.id']));
    return [...new Set(ids.map((id) => named.get(id) ?? id))];
  }

  it('leaves out, by default, what the caller does not keep', async () => {
    expect(await exportedWith({})).toEqual(['own', 'sampled']);
  });

  it.each([
    ['always_on', ['own', 'sampled', 'unsampled']],
    ['always_off', []],
    ['parentbased_always_off', ['sampled']],
  ])('%s exports %j', async (sampler, expected) => {
    expect(await exportedWith({ OTEL_TRACES_SAMPLER: sampler })).toEqual(expected);
  });
});

describe('the command’s environment', () => {
  async function open(env: Record<string, string>, dotEnv = '') {
    const cwd = await temporaryDirectory();
    await writeFile(path.join(cwd, '.env'), dotEnv);
    return openConfig(await loadConfig({ argv: [], env, cwd }));
  }

  it('turns the exporter on with OTEL_EXPORTER_OTLP_ENDPOINT, and hands it the other variables', async () => {
    const collector = await startCollector();
    const { service, warnings } = await open(
      {
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
        OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20t0ken',
        OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
        OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      },
      'OTEL_SERVICE_NAME=from-dot-env\n',
    );
    expect(warnings).toEqual([]);
    const core = await openCore(service);
    await call(core, 'alice', 'memory_list', {});
    await core.close();
    expect(collector.requests[0]?.headers).toMatchObject({
      authorization: 'Bearer t0ken',
      'content-encoding': 'gzip',
      'content-type': 'application/json',
    });
    expect(collector.spans[0]?.resource).toMatchObject({
      'service.name': 'from-dot-env',
      'service.version': expect.stringMatching(/^\d/) as string,
      'telemetry.sdk.language': 'nodejs',
    });
  });

  it.each([
    [{}],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c', OTEL_SDK_DISABLED: 'true' }],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c', OTEL_TRACES_EXPORTER: 'none' }],
  ])('leaves it off with %j', async (env) => {
    const { service, warnings } = await open(env);
    expect([service.exporters, warnings]).toEqual([[], []]);
  });

  it('that the exporter cannot work with is a warning: it is often set for every process', async () => {
    const { service, warnings } = await open({
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4317',
      OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
    });
    expect(service.exporters).toEqual([]);
    expect(warnings).toEqual([
      expect.stringMatching(/OTEL_EXPORTER_OTLP_PROTOCOL.*kept here alone/),
    ]);
  });
});
