import { inject, type InjectionKey, provide } from 'vue';

const IN_DIALOG: InjectionKey<boolean> = Symbol('in a dialog');

/** Keeps the menus of a dialog within it: what is outside of it is hidden from screen readers. */
export function provideMenuPlace(): void {
  provide(IN_DIALOG, true);
}

/**
 * Where a menu is added to the page, as the `portal` of the library: within the main
 * landmark, or `false` for its own place in a dialog.
 */
export function useMenuPlace(): string | false {
  return inject(IN_DIALOG, false) ? false : '#menus';
}
