/** A server-sent event that carries data. */
export interface ServerEvent {
  id: string | null;
  data: string;
}

/** Reads server-sent events (WHATWG HTML, 9.2) from a body until it ends. */
export async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerEvent> {
  const reader = body.pipeThrough(new TextDecoderStream() as never).getReader();
  let rest = '';
  let id: string | null = null;
  let data: string[] = [];
  try {
    for (;;) {
      const { value, done } = (await reader.read()) as { value?: string; done: boolean };
      if (done) return;
      rest += value ?? '';
      const lines = rest.split(/\r\n|\n/);
      rest = lines.pop() ?? '';
      for (const line of lines) {
        if (line === '') {
          if (data.length > 0) yield { id, data: data.join('\n') };
          data = [];
        } else if (line.startsWith('data:')) data.push(line.slice(line[5] === ' ' ? 6 : 5));
        else if (line.startsWith('id:')) id = line.slice(line[3] === ' ' ? 4 : 3);
      }
    }
  } finally {
    reader.releaseLock();
    await body.cancel().catch(() => undefined);
  }
}
