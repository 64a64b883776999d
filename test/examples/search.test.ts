import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { root } from './run-example.ts';

const read = (name: string) => readFileSync(join(root, 'examples/search', name), 'utf8');

it('explains its scores as the documentation shows: the README has what it prints', () => {
  expect(read('README.md')).toContain(read('explained.txt'));
});
