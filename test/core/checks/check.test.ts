import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseRequestedChecks } from '../../../core/checks/check.ts';
import { readCheckFile } from '../../../core/checks/read-check-file.ts';
import { rejection } from '../../support/rejection.ts';

const EXAMPLE = path.resolve(import.meta.dirname, '../../../examples/checks/memory.checks.yaml');

const mistakesOf = (text: string) =>
  readCheckFile(text).mistakes.map(({ line, message }) => `${line}: ${message}`);
const one = (fields: string) => `checks:\n  - name: a\n    ${fields.replaceAll('\n', '\n    ')}\n`;

describe('a file of checks', () => {
  it('is read as YAML and as JSON', () => {
    const { checks, mistakes, value } = readCheckFile(readFileSync(EXAMPLE, 'utf8'));
    const names = checks.map(({ name }) => name);
    expect(mistakes).toEqual([]);
    expect(names).toHaveLength(6);
    const json = readCheckFile(JSON.stringify(value, null, 2));
    expect(json.checks.map(({ name }) => name)).toEqual(names);
    expect(json.mistakes).toEqual([]);
  });

  it('is told all of its mistakes at once, with line and nearest name', () => {
    const text = [
      'checks:',
      '  - name: a',
      '    usr: alice',
      '    contains: tea',
      '  - name: b',
      '    user: alice',
      '    asks: What?',
      '  - name: c',
      '    path: shared/policy.md',
      '    contains: "/(a/"',
      '  - name: c',
      '    everywhere: { absent: { secrt: true } }',
      '  - name: e',
      '    user: "no such/id"',
      '    ask: What?',
      '    expect: { line: x, within: 99 }',
    ].join('\n');
    expect(mistakesOf(text)).toEqual([
      '3: usr is not known: did you mean user?',
      '7: asks is not known: did you mean ask?',
      expect.stringMatching(/^10: contains is not a regular expression/),
      '12: secrt is not known: did you mean secret?',
      expect.stringMatching(/^14: user is not valid/),
      '16: within must be a rank from 1 to 50',
    ]);
  });

  it.each([
    ['user: alice', 'needs exactly one of'],
    ['contains: tea', 'needs one of user, space, path'],
    ['user: alice\neverywhere: { absent: x }', 'a check is about one memory'],
    ['user: alice\nask: What?', 'needs expect'],
    ['user: alice\ncontains: tea\nexpect: { line: x }', 'belongs to ask'],
    ['user: alice\nask: What?\nexpect: { within: 3 }', 'needs line or path'],
    ['path: policy.md\ncontains: tea', 'is not valid'],
    ['user: alice\nexists: true', 'needs a path'],
    ['path: shared/a.md\nask: What?\nexpect: { line: x }', 'needs a user'],
    ['space: team\nhygiene: none', 'needs a user or each_user'],
    ['path: shared/a.md\nmax_bytes: -1', 'whole number'],
    ['path: shared/a.md\nexists: maybe', 'true or false'],
    ['each_user: { absent: "/.*/" }', 'matches any text'],
    ['each_user: { absent: "/(?:x|.)/" }', 'matches any text'],
    ['each_user: { absent: "/(a)\\\\1/" }', 'a'],
    ['each_user: { absent: "/(?<=a)b/" }', 'a'],
    ['everywhere: tea', 'must have fields'],
    ['user: alice\ncontains: ""', 'must be a text'],
  ])('%s: %s', (fields, message) => {
    const mistakes = mistakesOf(one(fields));
    expect(mistakes).toHaveLength(1);
    expect(mistakes[0]).toContain(message);
  });

  it.each([
    ['', '1: '],
    ['checks: []', 'at least one check'],
    ['checks: [', '1: '],
    ['- name: a', 'must have fields'],
    ['checks:\n  - a: 1\n    a: 2', '3: '],
    ['check:\n  - name: a', '1: check is not known: did you mean checks?'],
  ])('%j is told its mistake', (text, message) => {
    expect(mistakesOf(text)[0]).toContain(message);
  });

  it('names two checks of one name', () => {
    const [mistake] = mistakesOf(
      `${one('path: shared/a.md\nexists: true')}  - name: a\n    path: shared/b.md\n    exists: true\n`,
    );
    expect(mistake).toBe('5: name is the name of check 1, too');
  });

  it('is INVALID_REQUEST over HTTP, with all issues', async () => {
    const parse = () => Promise.resolve().then(() => parseRequestedChecks({ checks: [{}, 7] }));
    const error = await rejection(parse());
    expect(error.code).toBe('INVALID_REQUEST');
    expect(error.details?.['issues']).toHaveLength(3);
  });
});
