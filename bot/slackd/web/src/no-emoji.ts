// Stands for node-emoji in the built page, see build.mjs: every name goes to
// the renderer's own table, which knows Slack's.
export function emojify(text: string, { fallback }: { fallback(name: string): string }): string {
  return text.replace(/^:(.+):$/, (_, name: string) => fallback(name));
}
