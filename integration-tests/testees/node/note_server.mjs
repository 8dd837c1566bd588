// Where handlers in children note what they do, and are told what comes next: `testees/README.md` describes it.
import { createServer, createConnection } from 'node:net'
import { createInterface } from 'node:readline'

/** Answers the one request of each connection. */
export function serveNotes(path, notes) {
  const server = createServer((socket) => {
    const gone = new AbortController()
    // A child may be killed at any time.
    socket.on('error', () => undefined).on('close', () => gone.abort())
    createInterface({ input: socket }).once('line', async (line) => {
      const answer = await answerTo(JSON.parse(line), notes, gone.signal)
      if (!gone.signal.aborted) socket.end(`${JSON.stringify(answer ?? null)}\n`)
    })
  })
  server.listen(path).unref()
  return server
}

function answerTo({ note, run, told }, notes, gone) {
  if (note !== undefined) return notes.note(note)
  if (run !== undefined) return notes.countRun(run)
  return notes.told(told, gone)
}

/** Asks the server; nothing if the signal aborts before. */
export function ask(path, request, signal) {
  return new Promise((resolve, reject) => {
    const socket = createConnection(path)
    const stop = () => {
      socket.destroy()
      resolve(undefined)
    }
    if (signal?.aborted) return stop()
    signal?.addEventListener('abort', stop, { once: true })
    socket.once('error', reject).write(`${JSON.stringify(request)}\n`)
    createInterface({ input: socket })
      .once('line', (line) => {
        signal?.removeEventListener('abort', stop)
        resolve(JSON.parse(line))
        socket.destroy()
      })
      // The testee has ended, and this process will, too.
      .once('close', () => resolve(undefined))
  })
}
