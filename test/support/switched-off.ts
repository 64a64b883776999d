import { onTestFinished } from 'vitest';
import { GUARDS } from '../../core/edits/guards.ts';
import { type LocatedOperation, Workspace } from '../../core/edits/workspace.ts';
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

type Ref = LocatedOperation['operation']['remove'][number];

/** Until the end of the test the number of a line decides, whatever text is quoted. */
export function locateByNumber(): void {
  replaceLocate((locate, workspace, operation) => {
    const toNumbered = (ref: Ref): Ref => {
      const row = workspace.live(ref.path)[(ref.line ?? 0) - 1];
      return row === undefined ? ref : { ...ref, text: row.text };
    };
    const { remove, sources } = operation;
    return locate({
      ...operation,
      remove: remove.map(toNumbered),
      sources: sources.map(toNumbered),
    });
  });
}

/** Until the end of the test nobody looks whether the lines are still there that an operation rests on. */
export function locateWithoutSources(): void {
  replaceLocate((locate, _workspace, operation) => locate({ ...operation, sources: [] }));
}

type Locate = Workspace['locate'];

function replaceLocate(
  replacement: (
    locate: Locate,
    workspace: Workspace,
    operation: Parameters<Locate>[0],
  ) => ReturnType<Locate>,
): void {
  const { prototype } = Workspace;
  const { locate } = prototype;
  prototype.locate = function (operation) {
    return replacement((one) => locate.call(this, one), this, operation);
  };
  onTestFinished(() => void (prototype.locate = locate));
}
