/**
 * A package of `test/bench/package.json`. By a name that the type checker does not see, since the
 * packages are there only once the bench has run: each contestant says what it uses of it.
 */
export function importPeer<Module>(name: string): Promise<Module> {
  return import(name) as Promise<Module>;
}
