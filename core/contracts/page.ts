/** A page of a list by keyset: `after` is the key of the last row seen, in the sort's columns. */
export interface PageRequest {
  /** 1–500. */
  limit: number;
  order: 'asc' | 'desc';
  after: readonly (string | number)[] | null;
}

/** A page; it may have fewer rows than its limit before the end of the list. */
export interface PageResult<T> {
  items: readonly T[];
  /** The key of the last row examined; `null` at the end of the list. */
  next: readonly (string | number)[] | null;
}
