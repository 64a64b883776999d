import { inject, type InjectionKey } from 'vue';

/** The value provided under `key`; throws if there is none, which is a bug of the console. */
export function need<T>(key: InjectionKey<T>): T {
  const value = inject(key);
  if (value === undefined) throw new Error('Used outside the console.');
  return value;
}
