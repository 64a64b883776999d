/**
 * A configuration that the service cannot start with. Its message is for the operator: it names the
 * key, the problem and what is allowed. The command exits with code 78 (`EX_CONFIG` of sysexits.h).
 */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  /** The setting's key; `null` when it is about a whole source. */
  readonly key: string | null;

  constructor(key: string | null, message: string, options: { cause?: unknown } = {}) {
    super(message, options);
    this.key = key;
  }
}
