/** Tracks the `limit`th largest of the numbers added so far. */
export class Largest {
  readonly #limit: number;
  /** Sorted, largest first. */
  readonly #values: number[] = [];

  constructor(limit: number) {
    this.#limit = Math.max(1, limit);
  }

  /** `-Infinity` while there are fewer. */
  get value(): number {
    return this.#values[this.#limit - 1] ?? -Infinity;
  }

  /** Adds a number; returns whether it is among the largest, or ties with the last of them. */
  add(value: number): boolean {
    const last = this.value;
    if (value <= last) return value === last;
    let place = this.#values.length;
    while (place > 0 && (this.#values[place - 1] ?? 0) < value) place--;
    this.#values.splice(place, 0, value);
    if (this.#values.length > this.#limit) this.#values.pop();
    return true;
  }
}
