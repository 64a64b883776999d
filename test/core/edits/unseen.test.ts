import { describe, expect, it } from 'vitest';
import { decide, type ExaminedOperation } from '../../../core/edits/engine.ts';
import { edit, examineAll, memoryOf } from '../../support/edit-memory.ts';
import { GOOD, HARMFUL, type UnseenEdit } from './unseen-edits.ts';

const A = 'user/a.md';

function examineOne({
  kind,
  notes,
  remove,
  add,
  heading = null as never,
  sources = [],
}: UnseenEdit) {
  const quote = (lines: readonly string[]) => lines.map((line) => `${A}: ${line}`);
  const proposed = edit(kind, {
    remove: quote(remove),
    sources: quote(sources),
    add: add === undefined ? null : { path: A, heading, lines: add },
  });
  const count = notes.split('\n').length;
  // A line further down was written later.
  const times = Array.from({ length: count }, (_, n) => Date.UTC(2026, 0, 1 + n));
  return examineAll(memoryOf({ [A]: notes }, { times: { [A]: times } }), [
    proposed,
  ])[0] as ExaminedOperation;
}

/** What becomes of an edit with a verifier that lets everything pass. */
function outcomeOf(unseen: UnseenEdit) {
  const examined = examineOne(unseen);
  const verdict = unseen.kind === 'supersede' ? 'replaces' : 'keeps';
  return { ...decide(examined, { verdict, mode: 'auto' }), signals: examined.signals };
}

const nameOf = ({ language, kind, remove, add, sources }: UnseenEdit) =>
  `${language} ${kind} ${[...remove, '→', ...(add ?? sources ?? [])].join(' ')}`;

describe('edits in languages and words that nobody tuned the engine to', () => {
  it.each(HARMFUL.map((one) => [nameOf(one), one] as const))(
    'never applies, whatever the verifier says: %s',
    (_name, unseen) => {
      expect(outcomeOf(unseen).status).not.toBe('applied');
    },
  );

  it('drops no good one, and applies most of them', () => {
    const all = GOOD.map((one) => ({ name: nameOf(one), ...outcomeOf(one) }));
    expect(all.filter(({ status }) => status === 'dropped' || status === 'stale')).toEqual([]);
    const waiting = all.filter(({ status }) => status === 'waiting');
    expect(waiting.length / all.length).toBeLessThan(0.3);
  });
});
