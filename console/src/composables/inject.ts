import { inject, type InjectionKey } from 'vue';

/** What was provided under `key`; throws where nothing was, since that is a fault of the console. */
export function need<T>(key: InjectionKey<T>): T {
  const value = inject(key);
  if (value === undefined) throw new Error('Used outside of the console.');
  return value;
}
