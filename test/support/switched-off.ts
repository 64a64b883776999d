import { onTestFinished } from 'vitest';
import { GUARDS } from '../../core/edits/guards.ts';
import { SIGNALS } from '../../core/schemas/dreams.ts';

/** Takes guards out of the engine's list until the end of the test, to see an attack work without them. */
export function switchOffGuards(names: readonly string[]): void {
  const guards = GUARDS as Record<string, unknown>;
  const before = { ...guards };
  for (const name of names) {
    if (!(name in guards)) throw new Error(`There is no guard ${name}.`);
    delete guards[name];
  }
  onTestFinished(() => {
    for (const name of Object.keys(guards)) delete guards[name];
    Object.assign(guards, before);
  });
}

/** The same for signals. */
export function switchOffSignals(names: readonly string[]): void {
  const signals = SIGNALS as unknown as string[];
  const before = [...signals];
  signals.splice(0, signals.length, ...before.filter((name) => !names.includes(name)));
  onTestFinished(() => void signals.splice(0, signals.length, ...before));
}
