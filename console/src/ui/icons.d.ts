/** Icons that the build found in use, from the plugin of the library. */
declare module 'virtual:nuxt-ui-icons' {
  export function init(add: (name: string, icon: { body: string }) => unknown): void;
}
