/**
 * A mistake in the configuration that prevents the start. Its message is for the operator: it names
 * the key, the problem and what is allowed. The command exits with code 78 (`EX_CONFIG` of
 * sysexits.h).
 */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  /** The setting's key; `null` if the error concerns several keys or a whole source. */
  readonly key: string | null;

  constructor(key: string | null, message: string, options: { cause?: unknown } = {}) {
    super(message, options);
    this.key = key;
  }
}

/** Collects the mistakes of a configuration, so that an operator sees all of them at once. */
export class Mistakes {
  readonly #errors: ConfigError[] = [];

  /** Runs a check. Collects its `ConfigError` and then returns `undefined`. */
  collect<T>(check: () => T): T | undefined {
    try {
      return check();
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      this.#errors.push(error);
      return undefined;
    }
  }

  /** Throws a single mistake as it is, or one `ConfigError` that lists them all. */
  throwIfAny(): void {
    const [first, ...more] = this.#errors;
    if (first === undefined) return;
    if (more.length === 0) throw first;
    const lines = this.#errors.map(({ message }) => `  - ${message}`);
    throw new ConfigError(
      null,
      [`The configuration has ${lines.length} mistakes:`, ...lines].join('\n'),
      { cause: first },
    );
  }
}
