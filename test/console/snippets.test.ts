import { execFileSync } from 'node:child_process';
import vm from 'node:vm';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { quoteShell, toJavaScript, toPython } from '../../console/src/snippets.ts';

// Text that a reader of a language could stumble over.
const hostile = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 12 }).filter((text) => text.isWellFormed()),
  fc.constantFrom(
    '__proto__',
    "'''",
    '"""',
    '${x}',
    '`',
    '\\',
    '\u2028',
    '\u007f',
    "'\\''",
    '\r\n',
  ),
);
const json = fc.dictionary(
  hostile,
  fc.oneof(hostile, fc.integer(), fc.boolean(), fc.constant(null), fc.array(hostile)),
);

describe('arguments in a snippet', () => {
  it('are the same when JavaScript reads them', () => {
    const values = fc.sample(json, 5_000);
    const script = `JSON.stringify([${values.map((value) => toJavaScript(value)).join(',\n')}])`;
    const read: unknown = JSON.parse(vm.runInNewContext(script) as string);
    expect(read).toEqual(JSON.parse(JSON.stringify(values)));
  });

  it('are the same when Python reads them', () => {
    const values = fc.sample(json, 3_000);
    // Pairs instead of keys: on Node 23 to 26 `JSON.parse` can misread a key with an escape.
    const script = `import json
values = [${values.map((value) => toPython(value)).join(',\n')}]
print(json.dumps([list(value.items()) for value in values]))`;
    const output = execFileSync('python3', ['-'], { input: script, maxBuffer: 1e9 });
    expect(JSON.parse(output.toString('utf8'))).toEqual(values.map(Object.entries));
  });

  it('are the same when a shell reads them', () => {
    const values = fc.sample(hostile, 2_000).filter((value) => !value.includes('\0'));
    const script = values.map((value) => `printf '%s\\0' ${quoteShell(value)}`).join('\n');
    const output = execFileSync('sh', ['-s'], { input: script, maxBuffer: 1e9 });
    expect(output.toString('utf8').split('\0').slice(0, -1)).toEqual(values);
  });
});
