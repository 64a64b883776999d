import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadConfig, openConfig } from '../../../core/config.ts';
import { otlp } from '../../../plugins/exporter-otlp/index.ts';
import { type OtlpOptions, readSettings } from '../../../plugins/exporter-otlp/settings.ts';
import { startCollector } from '../../support/collector.ts';
import { call, openCore, temporaryDirectory } from '../../support/service.ts';

const read = (environment: OtlpOptions['environment'], options: OtlpOptions = {}) =>
  readSettings({ ...options, ...(environment === undefined ? {} : { environment }) });

describe('the OTEL_* variables', () => {
  it('have the defaults of the specification', () => {
    expect(read({})).toEqual({
      url: 'http://localhost:4318/v1/traces',
      protocol: 'http/protobuf',
      headers: {},
      timeoutMs: 10_000,
      compression: 'none',
      certificateFile: null,
      clientCertificateFile: null,
      clientKeyFile: null,
      resource: { 'service.name': 'memory-service' },
      sampler: { isParentBased: true, ratio: 1 },
      queue: { maxSpans: 2_048, batchSpans: 512, delayMs: 5_000, timeoutMs: 30_000 },
    });
  });

  it.each([
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318' }, 'http://c:4318/v1/traces'],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318/' }, 'http://c:4318/v1/traces'],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'https://c/otlp' }, 'https://c/otlp/v1/traces'],
    [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://c:4318/mine' }, 'http://c:4318/mine'],
    [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://c:4318' }, 'http://c:4318/'],
    [
      { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://a', OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://b/t' },
      'http://b/t',
    ],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: '' }, 'http://localhost:4318/v1/traces'],
  ])('%j lead to %s', (environment, url) => {
    expect(read(environment).url).toBe(url);
  });

  it('of traces come before those of all signals, headers of both are sent, options win', () => {
    const environment = {
      OTEL_EXPORTER_OTLP_HEADERS: 'a=1,b=two%20words',
      OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'a=3',
      OTEL_EXPORTER_OTLP_TIMEOUT: '1000',
      OTEL_EXPORTER_OTLP_TRACES_TIMEOUT: '2000',
      OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test,service.name=x',
      OTEL_SERVICE_NAME: 'memory',
    };
    expect(read(environment)).toMatchObject({
      headers: { a: '3', b: 'two words' },
      timeoutMs: 2_000,
      compression: 'gzip',
      resource: { 'deployment.environment.name': 'test', 'service.name': 'memory' },
    });
    const options = { endpoint: 'http://o', headers: { a: '4' }, serviceName: 'mine' };
    expect(read(environment, options)).toMatchObject({
      url: 'http://o/v1/traces',
      headers: { a: '4', b: 'two words' },
      resource: { 'service.name': 'mine' },
    });
  });

  it.each<[Record<string, string>, RegExp]>([
    [{ OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }, /^OTEL_EXPORTER_OTLP_PROTOCOL .*"grpc".*4318/],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'c:4318' }, /^OTEL_EXPORTER_OTLP_ENDPOINT must be an http/],
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
